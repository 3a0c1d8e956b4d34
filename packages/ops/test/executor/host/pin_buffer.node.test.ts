// Needs markAsUntransferable, which browsers do not have.
import { describe, expect, it } from 'vitest'
import { coded } from '../../../../../scripts/testing/coded.mjs'
import { pinBuffer } from '../../../src/executor/index.js'

describe('pinBuffer', () => {
  it('keeps the elements where they are when a caller transfers the buffer', () => {
    const data = Float32Array.of(1, 2)
    pinBuffer(data.buffer)
    pinBuffer(data.buffer)
    try {
      structuredClone(data, { transfer: [data.buffer] })
    } catch (error) {
      // Node.js 20 copies instead.
      expect(error).toMatchObject({ name: 'DataCloneError' })
    }
    expect([...data]).toEqual([1, 2])
  })

  it("refuses the buffer's own transfer, where the engine has one", () => {
    const { buffer } = Float32Array.of(1, 2)
    pinBuffer(buffer)
    for (const name of ['transfer', 'transferToFixedLength'] as const) {
      const transfer: unknown = Reflect.get(buffer, name)
      if (transfer === undefined) continue
      expect(() => (transfer as () => void).call(buffer)).toThrow(coded('ERR_BUFFER_IN_USE'))
    }
    expect(buffer.byteLength).toBe(8)
  })

  it('leaves other buffers alone', () => {
    pinBuffer(new ArrayBuffer(8))
    const data = new Float32Array(2)
    structuredClone(data, { transfer: [data.buffer] })
    expect(data.length).toBe(0)
  })
})
