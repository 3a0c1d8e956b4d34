import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { markdownTable } from '../bench/markdown_table.mjs'
import { readmePicture } from '../bench/readme_picture.mjs'

const bench = fileURLToPath(new URL('../../../docs/bench/', import.meta.url))
const space = readFileSync(`${bench}space.md`, 'utf8')

describe('readmePicture', () => {
  it.each(['light', 'dark'])('is docs/bench/space_%s.svg', async (theme) => {
    await expect(readmePicture(space, theme)).toMatchFileSnapshot(`${bench}space_${theme}.svg`)
  })
})

describe('README.md', () => {
  const { header, rows } = markdownTable(space, 'Summary')
  const mean = header.indexOf('avx512-vnni: geometric mean')
  const meanOf = (kind) => rows.find(([name]) => name === kind)[mean]

  it.each([
    ['inference', 'inference'],
    ['training', 'forward and backward'],
  ])('states the geometric means of %s of docs/bench/space.md', (kind, title) => {
    const readme = readFileSync(fileURLToPath(new URL('../../../README.md', import.meta.url)), 'utf8')
    const row = readme.split('\n').find((line) => line.startsWith(`| \`cpu\`, AVX-512, ${title};`))
    expect(row).toContain(`| ${meanOf(`${kind}, 1 thread`)} and ${meanOf(`${kind}, 2 threads`)} |`)
  })
})
