"""`python -m gradsh.kernel -f FILE`: what Jupyter starts."""

from ipykernel.kernelapp import IPKernelApp

from gradsh.kernel.kernel import GradKernel
from gradsh.run.script import prepare

if __name__ == "__main__":
    prepare()
    IPKernelApp.launch_instance(kernel_class=GradKernel)
