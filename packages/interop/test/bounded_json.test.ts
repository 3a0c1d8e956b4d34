import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { parseBoundedJson } from '../src/files/bounded_json.js'

const parse = (text: string | Uint8Array, limits = { depth: 3, values: 5 }) =>
  parseBoundedJson('file', 'its header', typeof text === 'string' ? new TextEncoder().encode(text) : text, limits)
const corrupt = (rule: RegExp) => coded('ERR_WEIGHTS_CORRUPT', { message: expect.stringMatching(rule) as string })

describe('parseBoundedJson', () => {
  it('parses up to its limits', () => {
    expect(parse('[[[1]]]')).toEqual([[[1]]])
    expect(parse('[1,2,3,4,5]')).toEqual([1, 2, 3, 4, 5])
  })

  it('refuses more depth and more values', () => {
    expect(() => parse('[[[[1]]]]')).toThrow(corrupt(/its header is nested more than 3 deep/))
    expect(() => parse('[1,2,3,4,5,6]')).toThrow(corrupt(/its header has more than 5 values/))
    // Brackets that close too often allow no deeper ones.
    expect(() => parse(']]][[[[1]]]]')).toThrow(corrupt(/its header/))
  })

  it('counts nothing within texts', () => {
    const text = '[[[[,,,,,,{{{{'
    expect(parse(JSON.stringify([text, '\\', '"[[[['])) as unknown).toEqual([text, '\\', '"[[[['])
  })

  it('refuses other texts than JSON, and other bytes than UTF-8', () => {
    expect(() => parse('')).toThrow(corrupt(/its header is not JSON/))
    expect(() => parse('"a')).toThrow(corrupt(/its header is not JSON/))
    expect(() => parse('"a\\')).toThrow(corrupt(/its header is not JSON/))
    expect(() => parse(Uint8Array.of(0x22, 0xff, 0x22))).toThrow(corrupt(/its header is not JSON/))
  })
})
