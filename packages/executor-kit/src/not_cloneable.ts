/**
 * The first field of a tensor of an executor. structuredClone() and postMessage() can copy no symbol: they throw a
 * DataCloneError that quotes it, where they would otherwise give an object that looks like a tensor and is none.
 */
export const NOT_CLONEABLE: unique symbol = Symbol('tensor of an executor: read() it and send the host tensor')
