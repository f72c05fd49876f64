// Written by weft schema. Do not edit.

export type Color = "COLOR_UNSPECIFIED" | "RED" | "CRIMSON";

export type Order_State = "OPEN" | "SHUT";

export interface Order {
  /** 64 bits, as text. */
  orderId?: string;
  color?: Color;
  lines?: Order_Line[];
  byName?: { [key: string]: Order_Line };
  /** At most one field of payment is set. */
  card?: string;
  /** At most one field of payment is set. */
  cash?: boolean;
  /** A time, RFC 3339. */
  at?: string;
  more?: { [key: string]: unknown };
  /** Base64. */
  blob?: string;
  state?: Order_State[];
  /** 64 bits, as text. */
  sum?: string;
}

export interface Order_Line {
  article?: string;
  order?: Order;
}

/** The service shop.v1.Orders. */
export interface Orders {
  /** Idempotent: a call may be made again without another effect. */
  Get(request: Order_Line): Promise<Order>;
  Watch(requests: AsyncIterable<Order>): AsyncIterable<Order>;
}
