# Written by weft schema. Do not edit.

from __future__ import annotations

import typing

Color: typing.TypeAlias = typing.Literal["COLOR_UNSPECIFIED", "RED", "CRIMSON"]

Order_State: typing.TypeAlias = typing.Literal["OPEN", "SHUT"]


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


export_test_Order = typing.TypedDict("export_test_Order", {
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
    "next": "export_test_Order | None",
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


class shop_v1_Order(typing.TypedDict):
    # 64 bits, as text.
    orderId: typing.NotRequired[str]
    color: typing.NotRequired[Color]
    lines: typing.NotRequired[list[Order_Line]]
    byName: typing.NotRequired[dict[str, Order_Line]]
    # At most one field of payment is set.
    card: typing.NotRequired[str]
    # At most one field of payment is set.
    cash: typing.NotRequired[bool]
    # A time, RFC 3339.
    at: typing.NotRequired[str]
    more: typing.NotRequired[dict[str, typing.Any]]
    # Base64.
    blob: typing.NotRequired[str]
    state: typing.NotRequired[list[Order_State]]
    # 64 bits, as text.
    sum: typing.NotRequired[str]


class Order_Line(typing.TypedDict):
    article: typing.NotRequired[str]
    order: typing.NotRequired[shop_v1_Order]


_type_Line: typing.TypeAlias = "Line"
_type_Loose: typing.TypeAlias = "Loose"
_type_None_: typing.TypeAlias = "None_"


# Arith has methods of all kinds.
# The service Arith.
class ArithService(typing.Protocol):
    # Both does it.
    #
    # Once. */
    def Both(self, requests: typing.Iterable[dict[str, typing.NoReturn]], /) -> typing.Iterator[export_test_Order]: ...

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
    def Put(self, request: export_test_Order, /) -> Arith: ...

    # Raw does it.
    #
    # Once. */
    # Idempotent: a call may be made again without another effect.
    def Raw(self, request: str | None, /) -> list[_type_Line] | None: ...


# The service shop.v1.Orders.
class Orders(typing.Protocol):
    # Idempotent: a call may be made again without another effect.
    def Get(self, request: Order_Line, /) -> shop_v1_Order: ...

    def Watch(self, requests: typing.Iterable[shop_v1_Order], /) -> typing.Iterator[shop_v1_Order]: ...
