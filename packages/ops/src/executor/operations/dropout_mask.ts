import { philoxBlock } from '../philox.js'

/**
 * One mask of dropout. Element i draws word i mod 4 of the block of Philox4x32-10 with the key (seedLow, seedHigh) and the
 * counter (low and high word of ⌊i/4⌋, drawLow, 2^24·2 + drawHigh): the last word keeps it apart from initial weights and from the
 * masks inside recurrent networks, which have 0 there. It is dropped if the word's upper 24 bits are below `threshold`.
 */
export interface DropoutMask {
  readonly seedLow: number
  readonly seedHigh: number
  /** Lower 24 bits of the number of the mask, exact in float32. */
  readonly drawLow: number
  /** Upper 24 bits. */
  readonly drawHigh: number
  /** 0..2^24 */
  readonly threshold: number
  /** The factor of kept elements: 1/(1 - rate), 0 if all are dropped. */
  readonly kept: number
}

/** Added to the fourth word of the counter. */
export const DROPOUT_COUNTER = 2 ** 25

/** The mask of checked options. */
export function dropoutMask({ rate, seed, draw }: Readonly<Record<'rate' | 'seed' | 'draw', number>>): DropoutMask {
  return {
    seedLow: seed >>> 0,
    seedHigh: Math.floor(seed / 2 ** 32),
    drawLow: draw % 2 ** 24,
    drawHigh: Math.floor(draw / 2 ** 24),
    threshold: Math.ceil(rate * 2 ** 24),
    kept: rate === 1 ? 0 : 1 / (1 - rate),
  }
}

/** Calls `visit` for each element with the block of four words that its own, `words[k % 4]`, is in; see {@link DropoutMask}. */
export function eachWord(
  count: number,
  { seedLow, seedHigh, drawLow, drawHigh }: Omit<DropoutMask, 'threshold' | 'kept'>,
  counterBase: number,
  visit: (k: number, words: Uint32Array) => void,
): void {
  const key = Uint32Array.of(seedLow, seedHigh)
  const counter = Uint32Array.of(0, 0, drawLow, counterBase + drawHigh)
  const words = new Uint32Array(4)
  for (let k = 0; k < count; k++) {
    if (k % 4 === 0) {
      counter[0] = (k / 4) >>> 0
      counter[1] = Math.floor(k / 2 ** 34)
      philoxBlock(counter, key, words)
    }
    visit(k, words)
  }
}
