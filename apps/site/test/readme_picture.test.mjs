import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { readmePicture } from '../bench/readme_picture.mjs'
import { geometricMeans } from '../bench/stored_results.mjs'

const bench = fileURLToPath(new URL('../../../docs/bench/', import.meta.url))
const space = readFileSync(`${bench}space.md`, 'utf8')

describe('readmePicture', () => {
  it.each(['light', 'dark'])('is docs/bench/space_%s.svg', async (theme) => {
    await expect(readmePicture(space, theme)).toMatchFileSnapshot(`${bench}space_${theme}.svg`)
  })
})

describe('README.md', () => {
  const means = geometricMeans(space).filter(({ set }) => set === 'AVX-512')
  const meanOf = (kind) => means.find((mean) => mean.kind === kind).ratio.toFixed(2)

  it.each([
    ['inference', 'inference'],
    ['training', 'forward and backward'],
  ])('states the geometric means of %s of docs/bench/space.md', (kind, title) => {
    const readme = readFileSync(fileURLToPath(new URL('../../../README.md', import.meta.url)), 'utf8')
    const row = readme.split('\n').find((line) => line.startsWith(`| \`cpu\`, AVX-512, ${title};`))
    expect(row).toContain(`| ${meanOf(`${kind}, 1 thread`)} and ${meanOf(`${kind}, 2 threads`)} |`)
  })
})
