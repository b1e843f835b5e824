import torch
import torch.distributions as D
P=lambda *v: torch.tensor(v,requires_grad=True)
for k,(a,b) in {D.Beta:((P(.5,2.),P(1.5,3.)),(P(1.,2.),P(.5,.7))),D.Gamma:((P(.5,2.),P(1.5,3.)),(P(1.,2.),P(.5,.7))),D.Laplace:((P(.5,2.),P(1.5,3.)),(P(1.,2.),P(.5,.7))),D.LogNormal:((P(.5,2.),P(1.5,3.)),(P(1.,2.),P(.5,.7))),D.Cauchy:((P(.5,2.),P(1.5,3.)),(P(1.,2.),P(.5,.7))),D.Gumbel:((P(.5,2.),P(1.5,3.)),(P(1.,2.),P(.5,.7))),D.Dirichlet:((P(.5,2.),),(P(1.,.7),)),D.Poisson:((P(.5,2.),),(P(1.,.7),)),D.Geometric:((P(.5,.2),),(P(.1,.7),)),D.Bernoulli:((P(.5,.2),),(P(.1,.7),))}.items():
    r=D.kl_divergence(k(*a),k(*b)); print(k.__name__,r,torch.autograd.grad(r.sum(),(*a,*b)))
r=D.kl_divergence(D.Binomial(3,P(.2,.5)),D.Binomial(torch.tensor([3.,2.]),P(.3,.4))); print(r)
D.kl_divergence(D.Binomial(3, 0.5), D.Binomial(4, 0.5))
