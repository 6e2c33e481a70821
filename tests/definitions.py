"""Go to definition, as an editor does it: find the definitions that a function refers to.

Names are resolved through imports, methods through the declared types of values. A string that names
a function is not resolved, nor is a method of a value without a declared type.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from tests.sources import SOURCES

Function = ast.FunctionDef | ast.AsyncFunctionDef
MODULES = {source.module: source for source in SOURCES}


@dataclass(frozen=True)
class Definition:
    """A module, class, function or method: `fcreview.importers.importer.Importer.read_items`."""

    name: str
    node: ast.AST
    module: str
    owner: str = ""
    """Name of the class that contains a method."""


@cache
def find_definition(name: str) -> Definition | None:
    """Find the definition of a full name. An imported name leads to its definition."""
    if name in MODULES:
        return Definition(name, _parse(name), name)
    parent_name, _, last = name.rpartition(".")
    parent = find_definition(parent_name) if parent_name else None
    if parent is None:
        return None
    if isinstance(parent.node, ast.ClassDef):
        return _find_member(parent, last)
    if isinstance(parent.node, ast.Module):
        return _find_in_module(parent, last)
    return None


def _find_in_module(module: Definition, name: str) -> Definition | None:
    for node in module.node.body:  # type: ignore[attr-defined]
        if isinstance(node, Function | ast.ClassDef) and node.name == name:
            return Definition(f"{module.name}.{name}", node, module.name)
    imported = _module_imports(module.name).get(name)
    return find_definition(imported) if imported else None


@cache
def _find_member(owner: Definition, name: str) -> Definition | None:
    """Find a method of a class or of its bases."""
    for node in owner.node.body:  # type: ignore[attr-defined]
        if isinstance(node, Function) and node.name == name:
            return Definition(f"{owner.name}.{name}", node, owner.module, owner=owner.name)
    for base in _list_bases(owner):
        member = _find_member(base, name)
        if member is not None:
            return member
    return None


@cache
def _list_bases(class_: Definition) -> list[Definition]:
    names = _module_names(class_.module)
    bases = [_follow(base, names) for base in class_.node.bases]  # type: ignore[attr-defined]
    return [base for base in bases if base is not None and isinstance(base.node, ast.ClassDef)]


@cache
def _parse(module: str) -> ast.Module:
    tree = MODULES[module].nodes[0]
    assert isinstance(tree, ast.Module)
    return tree


@cache
def _module_imports(module: str) -> dict[str, str]:
    """Return the names that a module imports outside of functions -> their full names."""
    imports: dict[str, str] = {}
    for node in _parse(module).body:
        if not isinstance(node, Function | ast.ClassDef):
            imports |= _list_imports(node)
    return imports


def _list_imports(tree: ast.AST) -> dict[str, str]:
    imports: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                imports[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                imports[alias.asname or alias.name] = alias.name
    return imports


@cache
def _module_names(module: str) -> dict[str, str]:
    """Return all names of a module -> their full names."""
    names = dict(_module_imports(module))
    for node in _parse(module).body:
        if isinstance(node, Function | ast.ClassDef):
            names[node.name] = f"{module}.{node.name}"
    return names


def _follow(expression: ast.expr, names: dict[str, str]) -> Definition | None:
    """Return the definition of a name, or of a name behind a module: `read`, `read.read_items`."""
    if isinstance(expression, ast.Name):
        return find_definition(names.get(expression.id, ""))
    if isinstance(expression, ast.Attribute):
        parent = _follow(expression.value, names)
        return find_definition(f"{parent.name}.{expression.attr}") if parent else None
    return None


class _Body:
    """The body of a function, with the names and the types of the values in it."""

    def __init__(self, function: Definition) -> None:
        self.function = function
        self.names = _module_names(function.module) | _list_imports(function.node)
        self.types: dict[str, Definition] = {}
        if function.owner:
            self._add_type("self", find_definition(function.owner))
        for child in ast.walk(function.node):
            self._add_types_of_statement(child)

    def _add_types_of_parameters(self, function: Function) -> None:
        parameters = function.args
        for each in [*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs]:
            self._add_type(each.arg, _find_class(each.annotation, self.names))

    def _add_types_of_statement(self, node: ast.AST) -> None:
        if isinstance(node, Function):
            self._add_types_of_parameters(node)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            self._add_type(node.targets[0].id, self.find_type(node.value))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            self._add_type(node.target.id, _find_class(node.annotation, self.names))
        elif isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            self._add_type(node.target.id, self.find_type(node.iter))
        elif isinstance(node, ast.withitem) and isinstance(node.optional_vars, ast.Name):
            self._add_type(node.optional_vars.id, self.find_type(node.context_expr))

    def _add_type(self, name: str, class_: Definition | None) -> None:
        if class_ is not None:
            self.types.setdefault(name, class_)

    def find_type(self, expression: ast.expr) -> Definition | None:
        """Return the class of a value. The class of a collection is that of its elements."""
        if isinstance(expression, ast.Name) and expression.id in self.types:
            return self.types[expression.id]
        if isinstance(expression, ast.Name):
            return _find_type_of_constant(expression.id, self.function.module)
        if isinstance(expression, ast.BoolOp):
            return self.find_type(expression.values[0])
        if isinstance(expression, ast.Call):
            return _find_result_type(self.find(expression.func))
        if isinstance(expression, ast.Attribute):
            owner = self.find_type(expression.value)
            return _find_attribute_type(owner, expression.attr) if owner else None
        return None

    def find(self, expression: ast.expr) -> Definition | None:
        """Return the definition of a name or of an attribute."""
        definition = _follow(expression, self.names)
        if definition is None and isinstance(expression, ast.Attribute):
            owner = self.find_type(expression.value)
            return _find_member(owner, expression.attr) if owner else None
        return definition


def _find_class(annotation: ast.expr | None, names: dict[str, str]) -> Definition | None:
    """Return the first class of the product in an annotation, such as `Iterator[Item | None]`."""
    for node in ast.walk(annotation) if annotation is not None else ():
        definition = _follow(node, names) if isinstance(node, ast.Name) else None
        if definition is not None and isinstance(definition.node, ast.ClassDef):
            return definition
    return None


@cache
def _find_type_of_constant(name: str, module: str) -> Definition | None:
    for node in _parse(module).body:
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name:
            return _find_class(node.annotation, _module_names(module))
    return None


def _find_result_type(called: Definition | None) -> Definition | None:
    if called is None or isinstance(called.node, ast.ClassDef):
        return called
    if isinstance(called.node, Function):
        return _find_class(called.node.returns, _module_names(called.module))
    return None


@cache
def _find_attribute_type(owner: Definition, name: str) -> Definition | None:
    """Return the class of an attribute: a declared field, a property, or what `__init__` sets."""
    for class_ in [owner, *_list_bases(owner)]:
        for node in class_.node.body:  # type: ignore[attr-defined]
            if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name:
                return _find_class(node.annotation, _module_names(class_.module))
    initializer = _find_member(owner, "__init__")
    value = _values_set_by(initializer).get(name) if initializer is not None else None
    if initializer is not None and value is not None:
        return _find_parameter_or_class(value, initializer)
    return _find_result_type(_find_member(owner, name))


@cache
def _values_set_by(initializer: Definition) -> dict[str, ast.expr]:
    """Return the attributes that `__init__` sets -> their declared types, else their values."""
    values: dict[str, ast.expr] = {}
    for node in ast.walk(initializer.node):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Attribute):
            values[node.target.attr] = node.annotation
        elif isinstance(node, ast.Assign):
            values |= dict(_list_attribute_values(node.targets[0], node.value))
    return values


def _list_attribute_values(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Yield `a` with its value for `self.a = value`, and each pair of `self.a, self.b = x, y`."""
    if isinstance(target, ast.Attribute):
        yield target.attr, value
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for each_target, each_value in zip(target.elts, value.elts, strict=True):
            yield from _list_attribute_values(each_target, each_value)


def _find_parameter_or_class(value: ast.expr, initializer: Definition) -> Definition | None:
    """Return the class of a parameter, of a declared type, or of a call of a class."""
    names = _module_names(initializer.module) | _list_imports(initializer.node)
    node = initializer.node
    assert isinstance(node, Function)
    for argument in [*node.args.args, *node.args.kwonlyargs]:
        if isinstance(value, ast.Name) and value.id == argument.arg:
            return _find_class(argument.annotation, names)
    return _find_class(value.func if isinstance(value, ast.Call) else value, names)


@cache
def _implementations() -> dict[str, list[Definition]]:
    """Return the full name of each method -> the methods of subclasses that override it."""
    found: dict[str, list[Definition]] = {}
    for module in MODULES:
        for node in _parse(module).body:
            if not isinstance(node, ast.ClassDef):
                continue
            class_ = Definition(f"{module}.{node.name}", node, module)
            for member in (each for each in node.body if isinstance(each, Function)):
                for base in _list_bases(class_):
                    overridden = _find_member(base, member.name)
                    if overridden is not None:
                        name = f"{class_.name}.{member.name}"
                        definition = Definition(name, member, module, owner=class_.name)
                        found.setdefault(overridden.name, []).append(definition)
    return found


@cache
def list_references(function: Definition) -> list[Definition]:
    """Return the functions that a function refers to, also functions of other projects.

    A method leads to the methods that override it, as "go to implementations" does.
    """
    references = list(_implementations().get(function.name, ()))
    body = _Body(function)
    for node in ast.walk(function.node):
        if not isinstance(node, ast.Name | ast.Attribute):
            continue
        definition = body.find(node) or _find_function_of_other_project(node, body.names)
        if definition is not None and isinstance(definition.node, Function):
            references.append(definition)
    return references


def _find_function_of_other_project(
    expression: ast.expr, names: dict[str, str]
) -> Definition | None:
    """Return a function behind a module of another project: `os.fsync`. It refers to nothing."""
    if not isinstance(expression, ast.Attribute) or not isinstance(expression.value, ast.Name):
        return None
    module = names.get(expression.value.id, "")
    if not module or module.startswith("fcreview"):
        return None
    return Definition(f"{module}.{expression.attr}", _NO_FUNCTION, module)


_NO_FUNCTION = ast.parse("def function() -> None: ...").body[0]


def find_path(start: str | Definition, end: str) -> list[str]:
    """Return the shortest path by go-to-definition. The path is empty if there is none."""
    is_of_this_project = end.startswith("fcreview.")
    assert not is_of_this_project or find_definition(end) is not None, f"{end} does not exist"
    first = find_definition(start) if isinstance(start, str) else start
    assert first is not None, f"{start} does not exist"
    return find_paths(first).get(end, [])


@cache
def find_paths(first: Definition) -> dict[str, list[str]]:
    """Return each function that one can reach -> the shortest path to it."""
    paths = {first.name: [first.name]}
    waiting = [first]
    while waiting:
        function = waiting.pop(0)
        if function.node is _NO_FUNCTION:
            continue
        for reference in list_references(function):
            if reference.name not in paths:
                paths[reference.name] = [*paths[function.name], reference.name]
                waiting.append(reference)
    return paths
