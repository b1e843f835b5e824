# What index_put_ takes for the elements that it writes, and what an assignment does.
import torch
def told(f):
    try:
        print(f())
    except Exception as error:
        print(type(error).__name__, error)


def assigned(x,k,v):
    x[k] = v
    return x


i=torch.tensor([0])
told(lambda: torch.zeros(2).index_put_((i,),torch.ones(1,1)))
told(lambda: torch.zeros(2).index_put_((i,),torch.ones(2)))
told(lambda: torch.zeros(2).index_put_((i,),torch.ones(1,1,1)))
told(lambda: torch.zeros(2,3).index_put_((i,),torch.ones(1,1,3)))
told(lambda: torch.zeros(2,3).index_put_((i,),torch.ones(1,3)))
told(lambda: torch.zeros(2,3).index_put((i,),torch.ones(1,1,3)))
told(lambda: torch.zeros(2,3).index_put((i,),torch.ones(1,1,3), accumulate=True))
told(lambda: assigned(torch.zeros(2,3),i,torch.ones(1,1,3)))
told(lambda: assigned(torch.zeros(2,3),[0],torch.ones(1,1,3)))
told(lambda: assigned(torch.zeros(2,3),torch.zeros(2,3)==0,torch.ones(1,1)))
told(lambda: assigned(torch.zeros(2,3),torch.zeros(2,3)==0,torch.ones(1,6)))
told(lambda: torch.zeros(2,3).index_put_((torch.zeros(2,3)==0,),torch.ones(1,6)))
told(lambda: torch.zeros(2,3).index_put_((torch.zeros(2,3)==0,),torch.ones(6)))
told(lambda: torch.zeros(2,3).index_put_((torch.zeros(2,3)==0,),torch.ones(1,1)))
told(lambda: torch.zeros(2,3).index_put_((torch.zeros(2,3)==0,),torch.ones(1)))
