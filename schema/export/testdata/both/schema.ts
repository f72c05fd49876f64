// Written by weft schema. Do not edit.

export type Color = "COLOR_UNSPECIFIED" | "RED" | "CRIMSON";

export type Order_State = "OPEN" | "SHUT";

export interface Arith {
  /** 64 bits: exact up to 2^53 only. */
  a: number;
}

export interface Line {
  article: string;
  pieces: number;
  /** 64 bits: exact up to 2^53 only. */
  price: number;
  off: number[] | null;
}

export interface Loose {
  any: unknown;
  raw: unknown;
  number: number;
  big: number | null;
  fixed: number[];
  nested: (string[] | null)[] | null;
  bytes: string | null;
  deep: { [key: string]: Line[] | null } | null;
  keys: unknown;
  /** 64 bits: exact up to 2^53 only. */
  pointer: number | null;
}

export interface None {
  class: string;
  import: None | null;
  /** 64 bits: exact up to 2^53 only. */
  int: number;
  list: number[] | null;
  Line: Line;
  /** 64 bits: exact up to 2^53 only. */
  __self: number;
  string: string;
}

export interface export_test_Order {
  tenant: string;
  /**
   * the number, as printed on the bill
   * It never changes. *\/ # //
   * 64 bits: exact up to 2^53 only.
   */
  id: number;
  lines: (Line | null)[] | null;
  by?: { [key: string]: Line } | null;
  counts: { [key: string]: number } | null;
  /** A time, RFC 3339. */
  at: string;
  /** A duration in nanoseconds. */
  took: number;
  limit: number | null;
  name?: string | null;
  /** Base64. */
  blob: string | null;
  ratio: number;
  exact: number;
  small: number;
  byte: number;
  flag: string;
  level: string;
  "sizes-of-it": string;
  next: export_test_Order | null;
  none: { [key: string]: never };
  place: Order_Place;
  page: Page_Line;
  any: unknown;
  fields: { [key: string]: unknown } | null;
  grid: number[];
  code: number[];
  price: Price | null;
  addr: string;
  whole: number | null;
  not_proto: number[] | null;
}

export interface Order_Place {
  /** 64 bits: exact up to 2^53 only. */
  X: number;
  /** 64 bits: exact up to 2^53 only. */
  Y: number;
}

export interface Page_Line {
  items: Line[] | null;
}

export interface Price {
  /** 64 bits: exact up to 2^53 only. */
  cents: number;
}

export interface message {
  message: string;
  /** 64 bits: exact up to 2^53 only. */
  option: number;
  /** 64 bits: exact up to 2^53 only. */
  Promise: number;
  /** 64 bits: exact up to 2^53 only. */
  "фу": number;
}

export interface Arith_None_Reply {
  /** 64 bits: exact up to 2^53 only. */
  Sum: number;
}

export interface shop_v1_Order {
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
  order?: shop_v1_Order;
}

/**
 * Arith has methods of all kinds.
 * The service Arith.
 */
export interface ArithService {
  /**
   * Both does it.
   *
   * Once. *\/
   */
  Both(requests: AsyncIterable<{ [key: string]: never }>): AsyncIterable<export_test_Order>;
  /**
   * Line does it.
   *
   * Once. *\/
   */
  Line(request: Line): AsyncIterable<None>;
  /**
   * Loose does it.
   *
   * Once. *\/
   * Idempotent: a call may be made again without another effect.
   */
  Loose(request: Loose): Promise<number>;
  /**
   * None does it.
   *
   * Once. *\/
   */
  None(requests: AsyncIterable<message>): Promise<Arith_None_Reply>;
  /**
   * Put does it.
   *
   * Once. *\/
   * Idempotent: a call may be made again without another effect.
   */
  Put(request: export_test_Order): Promise<Arith>;
  /**
   * Raw does it.
   *
   * Once. *\/
   * Idempotent: a call may be made again without another effect.
   */
  Raw(request: string | null): Promise<Line[] | null>;
}

/** The service shop.v1.Orders. */
export interface Orders {
  /** Idempotent: a call may be made again without another effect. */
  Get(request: Order_Line): Promise<shop_v1_Order>;
  Watch(requests: AsyncIterable<shop_v1_Order>): AsyncIterable<shop_v1_Order>;
}
