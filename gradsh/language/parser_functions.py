"""The parser of parameters: those of `def`, which may have annotations, and those of `lambda`."""

from gradsh.language.node import expr
from gradsh.language.parser_atoms import AtomParser
from gradsh.language.tree import Constant, Lambda, arg, arguments


class _Parameters:
    """What is collected while parameters are read."""

    __slots__ = ("args", "defaults", "kw_defaults", "kwarg", "kwonlyargs", "posonlyargs", "starred", "vararg")

    def __init__(self) -> None:
        self.posonlyargs: list[arg] = []
        self.args: list[arg] = []
        self.vararg: arg | None = None
        self.kwonlyargs: list[arg] = []
        self.kw_defaults: list[expr | None] = []
        self.kwarg: arg | None = None
        self.defaults: list[expr] = []
        self.starred = False

    def names(self) -> list[str]:
        """Return the names of all parameters so far."""
        single = [item for item in (self.vararg, self.kwarg) if item is not None]
        return [item.arg for item in [*self.posonlyargs, *self.args, *self.kwonlyargs, *single]]


class FunctionParser(AtomParser):
    """The rules of parameters and lambdas."""

    def lambda_(self) -> expr:
        """Read a lambda.

        lambda: 'lambda' [parameters] ':' expression
        """
        start = self.i
        self.i += 1
        self.deeper()
        params = self.parameters(":", annotated=False)
        if self.kinds[self.i] != ":":
            self.unexpected("':'", "a lambda is `lambda x: expression`")
        self.i += 1
        outer, self.in_function = self.in_function, True
        self.scopes.append({})
        self.bind_parameters(params)
        body = self.expression()
        self.scopes.pop()
        self.in_function = outer
        self.depth -= 1
        return Lambda(self.span_from(start), params, body)

    def bind_parameters(self, params: arguments) -> None:
        """Bind the parameters' names in the innermost scope."""
        single = [item for item in (params.vararg, params.kwarg) if item is not None]
        for item in [*params.posonlyargs, *params.args, *params.kwonlyargs, *single]:
            self.bind(item.arg)

    def parameters(self, closing: str, annotated: bool) -> arguments:
        """Read parameters up to `closing`, which is left.

        parameters: [parameter (',' parameter)* [',']]
        parameter: '/' | '*' | '*' NAME | '**' NAME | NAME ['=' expression]      each NAME with ':' expression in a def
        """
        start = self.i
        found = _Parameters()
        while self.kinds[self.i] != closing:
            self.parameter(found, closing, annotated)
            if not self.accept(","):
                break
        if found.starred and found.vararg is None and not found.kwonlyargs:
            self.fail("named arguments must follow bare *", "name a parameter behind the *, or remove it")
        span = self.span_from(start) if self.i > start else self.here()
        return arguments(
            span, found.posonlyargs, found.args, found.vararg, found.kwonlyargs, found.kw_defaults, found.kwarg,
            found.defaults,
        )

    def parameter(self, found: _Parameters, closing: str, annotated: bool) -> None:
        """Read one parameter into `found`."""
        if found.kwarg is not None:
            self.fail("arguments cannot follow var-keyword argument", "put **… last")
        if self.accept("**"):
            found.kwarg = self.one_parameter(found, annotated)
        elif self.accept("*"):
            if found.starred:
                self.fail("* argument may appear only once", "leave one *")
            found.starred = True
            if self.kinds[self.i] not in {",", closing}:
                found.vararg = self.one_parameter(found, annotated)
        elif self.accept("/"):
            if found.posonlyargs or found.starred or not found.args:
                self.fail("/ must stand once, behind a parameter and ahead of *", "remove it")
            found.posonlyargs, found.args = found.args, []
        else:
            self.plain_parameter(found, annotated)

    def plain_parameter(self, found: _Parameters, annotated: bool) -> None:
        """Read a parameter without a star, with its default."""
        parameter = self.one_parameter(found, annotated)
        default = self.expression() if self.accept("=") else None
        if found.starred:
            found.kwonlyargs.append(parameter)
            found.kw_defaults.append(default)
            return
        found.args.append(parameter)
        if default is not None:
            found.defaults.append(default)
        elif found.defaults:
            self.fail("non-default argument follows default argument", f"give {parameter.arg} a default, or put it first",
                      span=parameter.span)

    def annotation(self, node: expr) -> expr:
        """Return an annotation, or a text in its place where annotations are not evaluated."""
        return Constant(node.span, "") if self.annotations_are_text else node

    def one_parameter(self, found: _Parameters, annotated: bool) -> arg:
        """Read a parameter's name and annotation."""
        start = self.i
        name = self.name("a parameter's name")
        if name in found.names():
            self.fail(f"duplicate argument '{name}' in function definition", "rename one of them", span=self.spans[start])
        annotation = None
        if annotated and self.accept(":"):
            annotation = self.annotation(self.starred_or())
        return arg(self.span_from(start), name, annotation)
