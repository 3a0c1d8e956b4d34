import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { Philox, philoxBlock } from '../../src/executor/index.js'

const hex = (words: Uint32Array) => [...words].map((word) => word.toString(16).padStart(8, '0')).join(' ')

describe('philoxBlock', () => {
  // Known answers of Random123's kat_vectors, philox4x32 with 10 rounds.
  it.each([
    [[0, 0, 0, 0], [0, 0], '6627e8d5 e169c58d bc57ac4c 9b00dbd8'],
    [[0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff], [0xffffffff, 0xffffffff], '408f276d 41c83b0e a20bc7c6 6d5451fd'],
    [[0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344], [0xa4093822, 0x299f31d0], 'd16cfe09 94fdcceb 5001e420 24126ea1'],
  ])('turns counter %j and key %j into %s', (counter, key, words) => {
    expect(hex(philoxBlock(Uint32Array.from(counter), Uint32Array.from(key), new Uint32Array(4)))).toBe(words)
  })
})

describe('Philox', () => {
  const draw = (generator: Philox, count: number) => Array.from({ length: count }, () => generator.uint32())

  it('draws the words of consecutive blocks, its seed being the key and its stream the third counter word', () => {
    const seed = 0x1234_5678 + 5 * 2 ** 32
    const key = Uint32Array.of(0x1234_5678, 5)
    const block = (n: number) => [...philoxBlock(Uint32Array.of(n, 0, 9, 0), key, new Uint32Array(4))]
    expect(draw(new Philox(seed, 9), 8)).toEqual([...block(0), ...block(1)])
    expect(hex(Uint32Array.from(draw(new Philox(0), 4)))).toBe('6627e8d5 e169c58d bc57ac4c 9b00dbd8')
  })

  it('seek continues at any position, and position returns it', () => {
    const words = draw(new Philox(3), 20)
    for (let position = 0; position < 12; position++) {
      const generator = new Philox(3)
      generator.seek(position)
      expect(generator.position).toBe(position)
      expect(draw(generator, 8)).toEqual(words.slice(position, position + 8))
      expect(generator.position).toBe(position + 8)
    }
  })

  it('seek reaches blocks beyond 2^32, the second counter word', () => {
    const generator = new Philox(0)
    generator.seek(4 * (2 ** 32 + 7))
    const block = philoxBlock(Uint32Array.of(7, 1, 0, 0), new Uint32Array(2), new Uint32Array(4))
    expect(draw(generator, 4)).toEqual([...block])
  })

  it('uniform is in [0,1) with mean 1/2, normal has mean 0 and variance 1', () => {
    const generator = new Philox(1)
    const count = 20_000
    const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
    const uniforms = Array.from({ length: count }, () => generator.uniform())
    const normals = Array.from({ length: count }, () => generator.normal())
    expect(Math.min(...uniforms)).toBeGreaterThanOrEqual(0)
    expect(Math.max(...uniforms)).toBeLessThan(1)
    // Five standard errors: 1/√12, 1 and √2 over √count.
    expect(Math.abs(mean(uniforms) - 0.5)).toBeLessThan((5 * Math.sqrt(1 / 12)) / Math.sqrt(count))
    expect(Math.abs(mean(normals))).toBeLessThan(5 / Math.sqrt(count))
    expect(Math.abs(mean(normals.map((value) => value ** 2)) - 1)).toBeLessThan((5 * Math.SQRT2) / Math.sqrt(count))
  })

  it('fillUniform gives the numbers that uniform gives, from any position on', () => {
    for (const position of [0, 1, 3, 6]) {
      const [filling, drawing] = [new Philox(3), new Philox(3)]
      for (const generator of [filling, drawing]) generator.seek(position)
      const values = new Float32Array(11)
      filling.fillUniform(values, 0.25)
      expect(values).toEqual(Float32Array.from({ length: 11 }, () => 0.25 * (2 * drawing.uniform() - 1)))
      expect(filling.position).toBe(drawing.position)
    }
  })

  it.each([[[1]], [new BigInt64Array(1)], [Int32Array.of(1)], [null]])('fillUniform refuses %s', (values) => {
    expect(() => new Philox(0).fillUniform(values as never, 1)).toThrow(coded('ERR_INVALID_ARGUMENT'))
  })

  it.each([1n, Number.NaN, '1', undefined])('fillUniform refuses the limit %s and draws nothing', (limit) => {
    const generator = new Philox(0)
    expect(() => generator.fillUniform(new Float32Array(1), limit as never)).toThrow(coded('ERR_INVALID_OPTION'))
    expect(generator.position).toBe(0)
  })

  it.each([-1, 0.5, Number.NaN, 2 ** 53])('refuses the seed, stream and position %s', (value) => {
    const refusal = coded('ERR_INVALID_OPTION', { value })
    expect(() => new Philox(value)).toThrow(refusal)
    expect(() => new Philox(0, value)).toThrow(refusal)
    expect(() => new Philox(0).seek(value)).toThrow(refusal)
  })
})
