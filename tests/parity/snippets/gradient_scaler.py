import torch
dev=torch.device("cuda" if torch.cuda.is_available() else "cpu")
s=torch.amp.GradScaler(dev); print(s.is_enabled(), s.get_scale())
s=torch.amp.GradScaler(device="cpu", enabled=False); print(s.is_enabled(), s.get_scale(), s.state_dict())
s=torch.amp.GradScaler("cpu"); p=torch.nn.Parameter(torch.ones(2)); o=torch.optim.Adam([p]); sch=torch.optim.lr_scheduler.StepLR(o,1)
for i in range(3):
    s.scale(p.sum()*float('inf' if i==0 else 1)).backward(); s.step(o); sc=s.get_scale(); s.update(); print(sc, s.get_scale(), p.data, sc>s.get_scale()); sch.step(); o.zero_grad()
s2=torch.amp.GradScaler("cpu"); s2.load_state_dict(s.state_dict()); print(s2.get_scale(), s2.state_dict()==s.state_dict())
for w in (lambda: s2.step(o), lambda: s2.update(), lambda: torch.amp.GradScaler("cpu",growth_factor=0.5)):
    try: w()
    except Exception as e: print(type(e).__name__, e)
