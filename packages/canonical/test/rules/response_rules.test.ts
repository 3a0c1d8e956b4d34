import { expect, test } from 'vitest'
import { isResponse } from '../../src/rules/index.js'

test('isResponse knows responses from blobs, incomplete objects and other values', () => {
  expect(isResponse(new Response('text'))).toBe(true)
  expect(isResponse(new Response(null, { status: 404 }))).toBe(true)
  expect(isResponse(new Blob(['text']))).toBe(false)
  const { blob, arrayBuffer } = Response.prototype
  expect(isResponse({ blob, arrayBuffer, ok: true, status: 200 })).toBe(false)
  for (const value of [undefined, null, 'https://localhost', 200]) expect(isResponse(value)).toBe(false)
})
