import { describe, expect, it } from 'vitest'
import { Lanes } from '../src/lanes.js'

const count = (length: number) => Int32Array.from({ length }, (_, index) => index)

describe('Lanes', () => {
  it('reads B contiguous lanes in windows of T, each label the character after its input', () => {
    const lanes = new Lanes(count(11), 2, 2) // lanes 0..4 and 5..9; 10 is left over
    expect(lanes.windows).toBe(2)
    expect(lanes.window(0)).toEqual({
      inputs: Int32Array.of(0, 5, 1, 6),
      labels: Int32Array.of(1, 6, 2, 7),
      shape: [2, 2],
      restarts: true,
    })
    expect(lanes.window(1)).toMatchObject({ inputs: Int32Array.of(2, 7, 3, 8), restarts: false })
  })

  it('begins anew after the last window, so that the step number alone tells the place', () => {
    const lanes = new Lanes(count(11), 2, 2)
    expect(lanes.window(2)).toEqual(lanes.window(0))
    expect(lanes.window(7)).toEqual(lanes.window(1))
  })

  it('refuses a text whose lanes hold no window', () => {
    expect(() => new Lanes(count(8), 4, 2)).toThrow(
      expect.objectContaining({ code: 'ERR_TEXT_TOO_SHORT', length: 8, time: 4, batch: 2 }),
    )
    expect(new Lanes(count(10), 4, 2).windows).toBe(1)
  })
})
