import { describe, expect, it } from 'vitest'
import { loadNote } from '../src/load_note.js'

describe('loadNote', () => {
  it('warns only where other programs used the machine', () => {
    expect(loadNote({ loadBefore: 0.2 })).toEqual([])
    expect(loadNote({ loadBefore: 3.14 })).toEqual([
      'The machine was not quiet before the run (load 3.1): times and ratios may be off.',
    ])
  })
})
