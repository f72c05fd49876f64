# Written by weft schema. Do not edit.

from __future__ import annotations

import typing

Color: typing.TypeAlias = typing.Literal["COLOR_UNSPECIFIED", "RED", "CRIMSON"]

Order_State: typing.TypeAlias = typing.Literal["OPEN", "SHUT"]


class Order(typing.TypedDict):
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
    order: typing.NotRequired[Order]


# The service shop.v1.Orders.
class Orders(typing.Protocol):
    # Idempotent: a call may be made again without another effect.
    def Get(self, request: Order_Line, /) -> Order: ...

    def Watch(self, requests: typing.Iterable[Order], /) -> typing.Iterator[Order]: ...
