/** Values in a pickle: tensors, plain containers, and objects that are not built. */
export type PickleValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | PickleValue[]
  | PickleDict
  | PickleTensor
  | UnreadTensor
  | PickleObject
  | PickleGlobal
  | PickleStorage

/** Keys of dicts that are part of a tensor's name; an entry under another key is named by its place. */
export type PickleKey = string | number | bigint | boolean

/** A dict or one of its subclasses; keys are kept in order. */
export class PickleDict extends Map<PickleKey, PickleValue> {}

/** A global name of Python: a text, which stands for nothing here. */
export class PickleGlobal {
  constructor(readonly path: string) {}
}

/** An object that is not built: its class, and the arguments of its constructor. */
export class PickleObject {
  /** Attributes that the pickle restores, and items that it sets. */
  readonly attributes: PickleValue[] = []

  constructor(
    /** The class or function that Python would call. */
    readonly path: string,
    readonly parameters: readonly PickleValue[],
  ) {}
}

/** A storage, or a part of one, that a persistent id names. */
export class PickleStorage {
  constructor(
    /** Like `FloatStorage`, or the dtype that a tensor of an untyped storage names. */
    readonly type: string,
    readonly key: string,
    /** The first element of a view, counted in the storage. */
    readonly begin: number,
  ) {}
}

/** Arguments of `torch._utils._rebuild_tensor_v2`. */
export class PickleTensor {
  constructor(
    readonly storage: PickleStorage,
    /** In elements. */
    readonly offset: number,
    readonly shape: readonly number[],
    readonly strides: readonly number[],
  ) {}
}

/** A tensor whose elements are in no storage in a form that is read: quantized, sparse, without elements. */
export class UnreadTensor {
  constructor(
    /** `a quantized tensor`. */
    readonly what: string,
    readonly shape: readonly number[],
  ) {}
}
