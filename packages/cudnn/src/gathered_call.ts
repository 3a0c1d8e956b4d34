import type { Buffer, Kernel, NativeAddon } from './native_addon.js'

/**
 * The functions of the addon whose calls can be gathered and their arguments after the session, one letter each: `r` a
 * buffer read, `w` one written (either may be null), `n` a number, `o` a descriptor or null.
 */
export const GATHERED_FUNCTIONS = Object.freeze({
  copy: 'wnrnn',
  clear: 'wnn',
  rnnForward: 'onroroworworwrww',
  rnnBackwardData: 'ororroworrworrwrww',
  rnnBackwardWeights: 'ororororwwwn',
  matrixProduct: 'nnnnnrnrnnwnnn',
} as const)

/** Arguments of `launch` before the kernel's parameters: the kernel, blocks, threads. */
export const LAUNCH_ARGUMENTS = 'onn'

/** Letters of a kernel's signature as arguments; `s` is a scalar, which may differ from one time to the next. */
export const PARAMETER_ARGUMENTS: Readonly<Record<string, string>> = Object.freeze({
  i: 'r',
  I: 'r',
  o: 'w',
  u: 'w',
  n: 'n',
  s: 's',
  // Where in memory the scalars are: a buffer and an offset, which whoever issues the call fills in.
  v: 'vv',
})

export type GatheredArgument = Buffer | Kernel | object | number | null | undefined

/** One call that was not made yet. */
export interface GatheredCall {
  readonly name: keyof typeof GATHERED_FUNCTIONS | 'launch'
  /** One letter per argument. */
  readonly kinds: string
  readonly args: readonly GatheredArgument[]
  /** Index of its first scalar among those of the log. */
  readonly firstScalar: number
}

/** Memory that a gathered call asks for. It stands for a buffer wherever one is passed until it is one. */
export class PlannedBuffer {
  readonly bytes: number
  /** Its place among those of its log. */
  readonly index: number
  /** The buffer, once there is one. */
  issued: Buffer | undefined
  /** Filled from a host array already: an operand from outside, as far as the gathered calls go. */
  isUploaded = false
  /** Nobody holds it any more: what the gathered calls leave in it need not be kept. */
  isReleased = false
  /** Of a batch that was taken back. */
  isForgotten = false

  constructor(bytes: number, index: number) {
    this.bytes = bytes
    this.index = index
  }

  /** As the addon's functions are typed. */
  get handle(): Buffer {
    return this as unknown as Buffer
  }
}

/** The planned buffer that a handle is, if it is one. */
export function plannedBuffer(handle: unknown): PlannedBuffer | undefined {
  return handle instanceof PlannedBuffer ? handle : undefined
}

/** The buffer that a planned one has become; any other handle is itself. */
export function issuedBuffer(handle: Buffer): Buffer {
  return plannedBuffer(handle)?.issued ?? handle
}

/** Makes a gathered call: `resolve` gives the buffer for an argument, `scalars` where in memory its scalars are. */
export function makeCall(
  native: NativeAddon,
  session: unknown,
  { name, kinds, args }: GatheredCall,
  resolve: (buffer: Buffer) => Buffer,
  scalars: readonly [Buffer, number] | readonly [null, 0] = [null, 0],
): void {
  const resolved = args.map((arg, k) => {
    const kind = kinds[k]!
    return (kind === 'r' || kind === 'w') && arg !== null ? resolve(arg as Buffer) : arg
  })
  if (kinds.endsWith('v')) resolved.splice(-2, 2, ...scalars)
  ;(native[name] as (...values: unknown[]) => void)(session, ...resolved)
}
