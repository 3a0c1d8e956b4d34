/** Values in a pickle of tensors and plain containers. */
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
  | PickleGlobal
  | PickleStorage

/** Keys of dicts; others have no name that a tensor could be part of. */
export type PickleKey = string | number | bigint | boolean

/** A dict or OrderedDict; keys are kept in order. */
export class PickleDict extends Map<PickleKey, PickleValue> {}

/** An allowed global name of Python. */
export class PickleGlobal {
  constructor(readonly path: string) {}
}

/** A storage named by a persistent id: `('storage', <class>, key, location, count)`. */
export class PickleStorage {
  constructor(
    /** As `FloatStorage`. */
    readonly type: string,
    readonly key: string,
    readonly count: number,
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
