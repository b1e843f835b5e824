"""A small program of a user's: `make package` runs it with the installed package, and checks its types from outside."""

import gradsh
from gradsh.session.session import Session
from gradsh.text.glossary import TERMS

x = gradsh.ones(2, requires_grad=True)
y = (x * x).sum()
y.backward()
print(x.grad)
meaning: str = TERMS["leaf"]
session: Session = Session()
session.run("z = ones(2)", lambda event: None)
