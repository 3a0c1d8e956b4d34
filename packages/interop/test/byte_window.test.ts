import { memorySource } from '@cudnn-rnn/checkpoint'
import { describe, expect, it } from 'vitest'
import { ByteWindow } from '../src/files/byte_window.js'

describe('ByteWindow', () => {
  const bytes = Uint8Array.from({ length: 70_000 }, (_, index) => index % 251)
  const opened = () => new ByteWindow(memorySource('file', bytes))

  it('holds nothing at first', () => {
    expect(opened().held(0, 1)).toBeUndefined()
  })

  it('loads at least a window, and holds its bytes', async () => {
    const window = opened()
    expect(await window.load(100, 4)).toEqual(bytes.subarray(100, 104))
    expect(window.held(100, 65_536)).toEqual(bytes.subarray(100, 65_636))
    expect(window.held(65_635, 1)).toEqual(bytes.subarray(65_635, 65_636))
    expect(window.held(65_635, 2)).toBeUndefined()
    expect(window.held(99, 1)).toBeUndefined()
  })

  it('loads more than a window at once', async () => {
    expect(await opened().load(0, 70_000)).toEqual(bytes)
  })

  it('ends with the file', async () => {
    const window = opened()
    expect(await window.load(69_998, 9)).toEqual(bytes.subarray(69_998))
    expect(window.held(69_999, 9)).toEqual(bytes.subarray(69_999))
    expect(window.held(70_000, 9)).toEqual(new Uint8Array())
    expect(await window.load(70_000, 1)).toEqual(new Uint8Array())
  })

  it('moves back', async () => {
    const window = opened()
    await window.load(69_000, 1)
    expect(window.held(0, 1)).toBeUndefined()
    expect(await window.load(0, 2)).toEqual(bytes.subarray(0, 2))
  })
})
