import torch
import torch.nn as nn
from collections import OrderedDict
import numpy as np

def summary(model, input_size, batch_size=-1):
    def register_hook(module):
        def hook(module, input, output):
            class_name = str(module.__class__).split(".")[-1].split("'")[0]
            module_idx = len(summary)
            m_key = "%s-%i" % (class_name, module_idx + 1)
            summary[m_key] = OrderedDict()
            summary[m_key]["input_shape"] = list(input[0].size())
            summary[m_key]["input_shape"][0] = batch_size
            if isinstance(output, (list, tuple)):
                summary[m_key]["output_shape"] = [[-1] + list(o.size())[1:] for o in output]
            else:
                summary[m_key]["output_shape"] = list(output.size())
                summary[m_key]["output_shape"][0] = batch_size
            params = 0
            if hasattr(module, "weight") and hasattr(module.weight, "size"):
                params += torch.prod(torch.LongTensor(list(module.weight.size())))
                summary[m_key]["trainable"] = module.weight.requires_grad
            if hasattr(module, "bias") and hasattr(module.bias, "size"):
                params += torch.prod(torch.LongTensor(list(module.bias.size())))
            summary[m_key]["nb_params"] = params
        if not isinstance(module, nn.Sequential) and not isinstance(module, nn.ModuleList) and not (module == model):
            hooks.append(module.register_forward_hook(hook))
    x = [torch.rand(2, *in_size).type(torch.FloatTensor) for in_size in [input_size]]
    summary = OrderedDict()
    hooks = []
    model.apply(register_hook)
    model(*x)
    for h in hooks:
        h.remove()
    print("----------------------------------------------------------------")
    print("{:>20}  {:>25} {:>15}".format("Layer (type)", "Output Shape", "Param #"))
    print("================================================================")
    total_params = 0
    for layer in summary:
        print("{:>20}  {:>25} {:>15}".format(layer, str(summary[layer]["output_shape"]), "{0:,}".format(summary[layer]["nb_params"])))
        total_params += summary[layer]["nb_params"]
    print("Total params: {0:,}".format(total_params))
    print("Input size (MB): %0.4f" % abs(np.prod(input_size) * batch_size * 4. / (1024 ** 2.)))

class GradCAM:
    def __init__(self, model, layer):
        self.model, self.acts, self.grads = model, None, None
        layer.register_forward_hook(self._fwd)
        layer.register_full_backward_hook(self._bwd)
    def _fwd(self, m, i, o): self.acts = o.detach()
    def _bwd(self, m, gi, go): self.grads = go[0].detach()
    def __call__(self, x, idx=None):
        score = self.model(x)
        idx = score.argmax(1) if idx is None else idx
        self.model.zero_grad()
        score.gather(1, idx[:, None]).sum().backward()
        w = self.grads.mean(dim=(2, 3), keepdim=True)
        cam = torch.relu((w * self.acts).sum(1))
        cam -= cam.amin(dim=(1, 2), keepdim=True)
        return cam / (cam.amax(dim=(1, 2), keepdim=True) + 1e-8)

torch.manual_seed(1)
net = nn.Sequential(OrderedDict(conv1=nn.Conv2d(3, 4, 3), relu1=nn.ReLU(), conv2=nn.Conv2d(4, 8, 3, stride=2), relu2=nn.ReLU(), pool=nn.AdaptiveAvgPool2d((1, 1)), flat=nn.Flatten(), fc=nn.Linear(8, 3)))
summary(net, (3, 12, 12))
cam = GradCAM(net, net.conv2)
print(cam(torch.randn(2, 3, 12, 12))[0].round(decimals=3))
norms = {}
handles = [p.register_hook(lambda g, n=n: norms.__setitem__(n, g.norm().item())) for n, p in net.named_parameters()]
pre = net.fc.register_forward_pre_hook(lambda m, a: (a[0] * 2,))
out = net(torch.randn(2, 3, 12, 12))
out.register_hook(lambda g: g.clamp(-.1, .1))
out.sum().backward()
print({k: round(v, 4) for k, v in norms.items()})
for h in handles + [pre]: h.remove()
gates = []
def gate(grad):
    gates.append(grad.mean().item())
    return grad * 0.5
h = net.fc.weight.register_post_accumulate_grad_hook(lambda p: gates.append(p.grad.abs().sum().item()))
net(torch.ones(1, 3, 12, 12)).sum().backward()
h.remove()
print([round(g, 4) for g in gates], len(net.conv2._forward_hooks), len(net.fc._forward_pre_hooks))
