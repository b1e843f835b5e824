"""Which file of this folder declares which operations and operators. Written by `make docs`: do not change it by hand."""

FAMILIES = {
    "activation": (
        "F_celu F_elu F_hardsigmoid F_hardswish F_hardtanh F_leaky_relu F_relu F_selu F_threshold _prelu_kernel "
        "_prelu_kernel_backward celu celu_ elu elu_ elu_backward hardshrink hardshrink_backward hardsigmoid hardsigmoid_ "
        "hardsigmoid_backward hardswish hardswish_ hardswish_backward hardtanh hardtanh_ hardtanh_backward leaky_relu leaky_relu_ "
        "leaky_relu_backward prelu relu relu6 relu_ selu selu_ softshrink softshrink_backward softsign tanhshrink threshold "
        "threshold_ threshold_backward "
    ),
    "activation_smooth": (
        "F_mish F_silu gelu gelu_backward glu glu_backward log_sigmoid_backward log_sigmoid_forward logsigmoid mish mish_ silu "
        "silu_ softplus softplus_backward "
    ),
    "arithmetic": (
        "__add__ __floordiv__ __iadd__ __ifloordiv__ __imod__ __imul__ __isub__ __itruediv__ __mod__ __mul__ __neg__ __pos__ "
        "__radd__ __rfloordiv__ __rmod__ __rmul__ __rsub__ __rtruediv__ __sub__ __truediv__ add add_ div div_ divide divide_ "
        "floor_divide floor_divide_ fmod fmod_ mul mul_ multiply multiply_ neg neg_ negative negative_ positive remainder "
        "remainder_ rsub sub sub_ subtract subtract_ true_divide true_divide_ "
    ),
    "attention": (
        "_safe_softmax _scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_flash_attention_for_cpu_backward "
        "scaled_dot_product_attention "
    ),
    "binary": (
        "addcdiv addcdiv_ addcmul addcmul_ arctan2 arctan2_ atan2 atan2_ copysign copysign_ fmax fmin frexp gcd gcd_ heaviside "
        "heaviside_ hypot hypot_ lcm lcm_ ldexp ldexp_ lerp lerp_ logaddexp logaddexp2 maximum minimum nextafter nextafter_ xlogy "
        "xlogy_ "
    ),
    "clamp": "clamp clamp_ clamp_max clamp_max_ clamp_min clamp_min_ clip clip_",
    "class_loss": "cross_entropy nll_loss nll_loss2d_backward nll_loss2d_forward nll_loss_backward nll_loss_forward",
    "compare": (
        "__and__ __eq__ __ge__ __gt__ __iand__ __ilshift__ __invert__ __ior__ __irshift__ __ixor__ __le__ __lshift__ __lt__ "
        "__ne__ __or__ __rand__ __rlshift__ __ror__ __rrshift__ __rshift__ __rxor__ __xor__ _isclose _isfinite allclose "
        "bitwise_and bitwise_and_ bitwise_left_shift bitwise_left_shift_ bitwise_not bitwise_not_ bitwise_or bitwise_or_ "
        "bitwise_right_shift bitwise_right_shift_ bitwise_xor bitwise_xor_ eq eq_ equal ge ge_ greater greater_ greater_equal "
        "greater_equal_ gt gt_ is_nonzero isclose isfinite isin isinf isnan isneginf isposinf isreal le le_ less less_ less_equal "
        "less_equal_ logical_and logical_and_ logical_not logical_not_ logical_or logical_or_ logical_xor logical_xor_ lt lt_ ne "
        "ne_ not_equal not_equal_ "
    ),
    "conv": "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d convolution convolution_backward",
    "copy_cast": (
        "_to_copy bfloat16 bool byte cdouble cfloat char clone contiguous copy_ cpu cuda double fill fill_ fill_diagonal_ float "
        "half int is_pinned long numpy pin_memory share_memory_ short to type type_as zero_ "
    ),
    "create": (
        "arange empty empty_like empty_strided eye full full_like linspace logspace new_empty new_empty_strided new_full new_ones "
        "new_zeros ones ones_like range tril_indices triu_indices zeros zeros_like "
    ),
    "decompose": (
        "_linalg_cholesky_ex _linalg_eigh _linalg_svd cholesky cholesky_inverse cholesky_solve linalg_cholesky linalg_cholesky_ex "
        "linalg_cond linalg_eigh linalg_eigvalsh linalg_matrix_rank linalg_qr linalg_svd linalg_svdvals qr svd "
    ),
    "dropout": (
        "F_alpha_dropout F_dropout F_dropout1d F_dropout2d F_dropout3d F_feature_alpha_dropout alpha_dropout dropout dropout_ "
        "feature_alpha_dropout feature_dropout "
    ),
    "einsum": "einsum",
    "embedding": "F_embedding _one_hot embedding embedding_dense_backward one_hot",
    "embedding_bag": "_embedding_bag _embedding_bag_backward _embedding_bag_per_sample_weights_backward embedding_bag",
    "extrema": "amax amin aminmax argmax argmin max min",
    "fractional_pool": (
        "_fractional_max_pool2d _fractional_max_pool3d fractional_max_pool2d fractional_max_pool2d_backward "
        "fractional_max_pool2d_with_indices fractional_max_pool3d fractional_max_pool3d_backward "
        "fractional_max_pool3d_with_indices "
    ),
    "from_data": "_legacy_tensor as_tensor asarray from_numpy frombuffer new new_tensor scalar_tensor tensor",
    "grid_sample": (
        "_grid_sampler_2d_backward_backward _grid_sampler_3d_backward_backward affine_grid affine_grid_generator grid_sample "
        "grid_sampler grid_sampler_2d grid_sampler_2d_backward grid_sampler_3d grid_sampler_3d_backward "
    ),
    "householder": "geqrf linalg_householder_product orgqr",
    "incomplete_gamma": "_dirichlet_grad _standard_gamma_grad gammainc gammainc_ gammaincc gammaincc_ igamma igamma_ igammac igammac_",
    "index": "__getitem__ __setitem__ _index_put_impl index index_put index_put_",
    "index_parts": "index_add index_add_ index_copy index_copy_ index_fill index_fill_ index_reduce index_reduce_ index_select",
    "join": (
        "broadcast_tensors cat chunk column_stack concat concatenate dsplit dstack hsplit hstack meshgrid row_stack split "
        "split_with_sizes stack tensor_split torch_split unbind vsplit vstack "
    ),
    "label_loss": (
        "_ctc_loss _ctc_loss_backward _multi_margin_loss _soft_margin_loss ctc_loss multi_margin_loss multi_margin_loss_backward "
        "multilabel_margin_loss multilabel_margin_loss_backward multilabel_margin_loss_forward soft_margin_loss "
        "soft_margin_loss_backward "
    ),
    "linalg": (
        "_linalg_inv_ex _linalg_lstsq det inverse linalg_det linalg_diagonal linalg_inv linalg_inv_ex linalg_lstsq "
        "linalg_matrix_exp linalg_pinv linalg_slogdet linalg_tensorinv linalg_tensorsolve linalg_vander logdet matrix_exp "
        "pinverse slogdet vander "
    ),
    "linear_loss": "linear_cross_entropy",
    "linear_solve": "_linalg_solve_ex linalg_solve linalg_solve_ex linalg_solve_triangular triangular_solve",
    "loss": (
        "_binary_cross_entropy _binary_cross_entropy_with_logits _huber_loss _mse_loss _smooth_l1_loss binary_cross_entropy "
        "binary_cross_entropy_backward binary_cross_entropy_with_logits huber_loss huber_loss_backward l1_loss mse_loss "
        "mse_loss_backward smooth_l1_loss smooth_l1_loss_backward "
    ),
    "margin_loss": (
        "cosine_embedding_loss gaussian_nll_loss hinge_embedding_loss kl_div margin_ranking_loss multilabel_soft_margin_loss "
        "poisson_nll_loss triplet_margin_loss triplet_margin_with_distance_loss "
    ),
    "masked": (
        "argwhere masked_scatter masked_scatter_ masked_scatter_backward masked_select nonzero nonzero_static put put_ take "
        "take_along_dim "
    ),
    "matmul": "__imatmul__ __matmul__ __rmatmul__ addmm addmm_ bmm dot linear matmul mm mv spmm vdot",
    "memory": "set_",
    "normalization": (
        "F_batch_norm group_norm instance_norm layer_norm local_response_norm native_batch_norm native_batch_norm_backward "
        "native_group_norm native_group_norm_backward native_layer_norm native_layer_norm_backward rms_norm "
    ),
    "pad": (
        "constant_pad_nd pad reflection_pad1d reflection_pad1d_backward reflection_pad2d reflection_pad2d_backward "
        "reflection_pad3d reflection_pad3d_backward replication_pad1d replication_pad1d_backward replication_pad2d "
        "replication_pad2d_backward replication_pad3d replication_pad3d_backward "
    ),
    "pairwise_distance": "_cdist_backward _cdist_forward _euclidean_dist _pdist_backward _pdist_forward cdist dist pdist renorm renorm_",
    "pointwise": (
        "__abs__ abs abs_ absolute absolute_ acos acos_ acosh acosh_ angle arccos arccos_ arccosh arccosh_ arcsin arcsin_ arcsinh "
        "arcsinh_ arctan arctan_ arctanh arctanh_ asin asin_ asinh asinh_ atan atan_ atanh atanh_ ceil ceil_ conj conj_physical "
        "cos cos_ cosh cosh_ deg2rad deg2rad_ exp exp2 exp2_ exp_ expit expit_ expm1 expm1_ fix fix_ floor floor_ frac frac_ log "
        "log10 log10_ log1p log1p_ log2 log2_ log_ logit logit_ nan_to_num nan_to_num_ rad2deg rad2deg_ real reciprocal "
        "reciprocal_ round round_ rsqrt rsqrt_ sgn sgn_ sigmoid sigmoid_ sigmoid_backward sign sign_ signbit sin sin_ sinc sinc_ "
        "sinh sinh_ special_round sqrt sqrt_ square square_ tan tan_ tanh tanh_ tanh_backward trunc trunc_ "
    ),
    "pool": (
        "_adaptive_avg_pool2d _adaptive_avg_pool2d_backward _adaptive_avg_pool3d _adaptive_avg_pool3d_backward "
        "_adaptive_max_pool2d _adaptive_max_pool3d _avg_pool2d _avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d "
        "adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool2d_backward adaptive_max_pool3d "
        "adaptive_max_pool3d_backward avg_pool1d avg_pool2d avg_pool2d_backward avg_pool3d avg_pool3d_backward lp_pool1d "
        "lp_pool2d lp_pool3d max_pool1d max_pool2d max_pool2d_with_indices max_pool2d_with_indices_backward max_pool3d "
        "max_pool3d_with_indices max_pool3d_with_indices_backward "
    ),
    "power": "__ipow__ __pow__ __rpow__ float_power float_power_ pow pow_",
    "products": (
        "addbmm addbmm_ addmv addmv_ addr addr_ baddbmm baddbmm_ chain_matmul cross ger inner kron linalg_cross "
        "linalg_matrix_power linalg_multi_dot linalg_vecdot matrix_power outer tensordot trace "
    ),
    "random": (
        "_standard_gamma bernoulli bernoulli_ binomial cauchy_ exponential_ geometric_ get_rng_state initial_seed log_normal_ "
        "manual_seed multinomial normal normal_ poisson rand rand_like randint randint_like randn randn_like random_ randperm "
        "seed set_rng_state uniform_ "
    ),
    "rearrange": "diag diag_embed diagflat diagonal_copy flip fliplr flipud roll rot90 torch_flip tril tril_ triu triu_",
    "recurrent": "_pack_padded_sequence mkldnn_rnn_layer unsafe_chunk unsafe_split unsafe_split_with_sizes",
    "reduce": "all any count_nonzero mean nanmean nansum prod sum",
    "removed": "eig lstsq matrix_rank solve symeig",
    "resize": (
        "F_unfold _upsample_bicubic2d_aa _upsample_bicubic2d_aa_backward _upsample_bilinear2d_aa _upsample_bilinear2d_aa_backward "
        "_upsample_nearest_exact1d _upsample_nearest_exact1d_backward _upsample_nearest_exact2d "
        "_upsample_nearest_exact2d_backward _upsample_nearest_exact3d _upsample_nearest_exact3d_backward col2im fold im2col "
        "interpolate upsample upsample_bicubic2d upsample_bicubic2d_backward upsample_bilinear upsample_bilinear2d "
        "upsample_bilinear2d_backward upsample_linear1d upsample_linear1d_backward upsample_nearest upsample_nearest1d "
        "upsample_nearest1d_backward upsample_nearest2d upsample_nearest2d_backward upsample_nearest3d "
        "upsample_nearest3d_backward upsample_trilinear3d upsample_trilinear3d_backward "
    ),
    "rrelu": "rrelu rrelu_ rrelu_with_noise rrelu_with_noise_ rrelu_with_noise_backward",
    "scalars": "_add_scalar _div_scalar _mul_scalar _mul_scalar_ _sub_scalar",
    "scan": "cummax cummin cumprod cumprod_ cumsum cumsum_ cumulative_trapezoid diff gradient logcumsumexp trapezoid trapz",
    "scatter": "gather scatter scatter_ scatter_add scatter_add_ scatter_reduce scatter_reduce_",
    "select": "Tensor_where masked_fill masked_fill_ where",
    "shape": (
        "_block_diag atleast_1d atleast_2d atleast_3d block_diag broadcast_to cartesian_prod channel_shuffle combinations "
        "expand_as flatten moveaxis movedim native_channel_shuffle pixel_shuffle pixel_unshuffle ravel repeat repeat_interleave "
        "reshape reshape_as sum_to_size swapaxes swapdims tile torch_broadcast_to torch_reshape torch_tile unflatten view_as "
    ),
    "similarity": "_norm_over _norm_whole _trilinear bilinear cosine_similarity normalize pairwise_distance",
    "slicing": "diagonal diagonal_backward narrow select select_backward slice slice_backward unfold unfold_backward",
    "softmax": "F_log_softmax F_softmax _log_softmax_backward_data _softmax_backward_data log_softmax logsumexp softmax softmin",
    "sort": "argsort kthvalue median mode msort nanmedian nanquantile quantile sort topk",
    "special": (
        "Tensor_polygamma digamma digamma_ entr erf erf_ erfc erfc_ erfcx erfinv erfinv_ gammaln gammaln_ i0 i0_ i0e i1 i1e "
        "lgamma lgamma_ log_ndtr multigammaln multigammaln_ mvlgamma mvlgamma_ ndtr ndtri polygamma polygamma_ psi psi_ xlog1py "
        "zeta "
    ),
    "statistics": "corrcoef cov std std_mean var var_mean",
    "unique": (
        "_unique _unique2 _unique_consecutive bincount bucketize histc histogram histogramdd searchsorted unique "
        "unique_consecutive unique_dim "
    ),
    "unpool": "_max_unpool2d _max_unpool3d max_unpool1d max_unpool2d max_unpool3d",
    "vector_norms": "linalg_matrix_norm linalg_norm linalg_vector_norm norm",
    "view": (
        "_reshape_alias _unsafe_view alias as_strided as_strided_ as_strided_backward expand permute squeeze squeeze_ swapaxes_ "
        "swapdims_ t t_ torch_permute transpose transpose_ unsqueeze unsqueeze_ view "
    ),
    "view_copies": (
        "adjoint alias_copy as_strided_copy as_strided_scatter broadcast_shapes detach detach_ detach_copy diagonal_scatter "
        "expand_copy is_conj is_neg is_same_size is_signed narrow_copy permute_copy resize resize_ resize_as resize_as_ "
        "resolve_conj resolve_neg select_copy select_scatter slice_copy slice_scatter split_copy split_with_sizes_copy "
        "squeeze_copy t_copy transpose_copy unbind_copy unfold_copy unravel_index unsqueeze_copy view_copy "
    ),
    "weight_norm": "_weight_norm_interface",
    "windows": "bartlett_window blackman_window hamming_window hann_window kaiser_window",
}
