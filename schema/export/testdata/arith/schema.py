# Written by weft schema. Do not edit.

from __future__ import annotations

import typing


class Arith(typing.TypedDict):
    a: int


class Line(typing.TypedDict):
    article: str
    pieces: int
    price: int
    off: list[int] | None


class Loose(typing.TypedDict):
    any: typing.Any
    raw: typing.Any
    number: float
    big: int | None
    fixed: list[float]
    nested: list[list[str] | None] | None
    bytes: str | None
    deep: dict[str, list[Line] | None] | None
    keys: typing.Any
    pointer: int | None


None_ = typing.TypedDict("None_", {
    "class": "str",
    "import": "None_ | None",
    "int": "int",
    "list": "list[int] | None",
    "Line": "Line",
    "__self": "int",
    "string": "str",
})


Order = typing.TypedDict("Order", {
    "tenant": "str",
    # the number, as printed on the bill
    # It never changes. */ # //
    "id": "int",
    "lines": "list[Line | None] | None",
    "by": "typing.NotRequired[dict[str, Line] | None]",
    "counts": "dict[str, int] | None",
    # A time, RFC 3339.
    "at": "str",
    # A duration in nanoseconds.
    "took": "int",
    "limit": "int | None",
    "name": "typing.NotRequired[str | None]",
    # Base64.
    "blob": "str | None",
    "ratio": "float",
    "exact": "float",
    "small": "int",
    "byte": "int",
    "flag": "str",
    "level": "str",
    "sizes-of-it": "str",
    "next": "Order | None",
    "none": "dict[str, typing.NoReturn]",
    "place": "Order_Place",
    "page": "Page_Line",
    "any": "typing.Any",
    "fields": "dict[str, typing.Any] | None",
    "grid": "list[float]",
    "code": "list[int]",
    "price": "Price | None",
    "addr": "str",
    "whole": "int | None",
    "not_proto": "list[int] | None",
})


class Order_Place(typing.TypedDict):
    X: int
    Y: int


class Page_Line(typing.TypedDict):
    items: list[Line] | None


class Price(typing.TypedDict):
    cents: int


message = typing.TypedDict("message", {
    "message": "str",
    "option": "int",
    "Promise": "int",
    "фу": "int",
})


class Arith_None_Reply(typing.TypedDict):
    Sum: int


_type_Line: typing.TypeAlias = "Line"
_type_Loose: typing.TypeAlias = "Loose"
_type_None_: typing.TypeAlias = "None_"


# Arith has methods of all kinds.
# The service Arith.
class ArithService(typing.Protocol):
    # Both does it.
    #
    # Once. */
    def Both(self, requests: typing.Iterable[dict[str, typing.NoReturn]], /) -> typing.Iterator[Order]: ...

    # Line does it.
    #
    # Once. */
    def Line(self, request: _type_Line, /) -> typing.Iterator[_type_None_]: ...

    # Loose does it.
    #
    # Once. */
    # Idempotent: a call may be made again without another effect.
    def Loose(self, request: _type_Loose, /) -> int: ...

    # None does it.
    #
    # Once. */
    def None_(self, requests: typing.Iterable[message], /) -> Arith_None_Reply: ...

    # Put does it.
    #
    # Once. */
    # Idempotent: a call may be made again without another effect.
    def Put(self, request: Order, /) -> Arith: ...

    # Raw does it.
    #
    # Once. */
    # Idempotent: a call may be made again without another effect.
    def Raw(self, request: str | None, /) -> list[_type_Line] | None: ...
