import { describe, expect, it } from 'vitest'
import { embedding, embeddingGradient } from '../../../src/executor/host/embedding.js'

describe('embedding and embeddingGradient', () => {
  it('looks up rows, and adds gradients of a repeated id', () => {
    const rows = new Float32Array(6)
    embedding(rows, Float32Array.of(1, 2, 3, 4, 5, 6), Int32Array.of(2, 0, 2), 2)
    expect([...rows]).toEqual([5, 6, 1, 2, 5, 6])
    const gradient = Float32Array.of(100, 0, 0, 0, 0, 0)
    embeddingGradient(gradient, Int32Array.of(2, 0, 2), Float32Array.of(1, 2, 3, 4, 10, 20), 2)
    expect([...gradient]).toEqual([103, 4, 0, 0, 11, 22])
  })
})
