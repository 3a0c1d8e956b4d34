import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { readmePicture } from '../bench/readme_picture.mjs'

const bench = fileURLToPath(new URL('../../../docs/bench/', import.meta.url))
const space = readFileSync(`${bench}space.md`, 'utf8')

describe('readmePicture', () => {
  it.each(['light', 'dark'])('is docs/bench/space_%s.svg', async (theme) => {
    await expect(readmePicture(space, theme)).toMatchFileSnapshot(`${bench}space_${theme}.svg`)
  })
})
