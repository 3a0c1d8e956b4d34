import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { withCharts } from '../bench/bench_charts.mjs'
import { geometricMeans, setTitle } from '../bench/stored_results.mjs'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const pages = readdirSync(join(root, 'docs/bench'))
  .filter((name) => name.endsWith('.md'))
  .map((name) => name.slice(0, -3))

describe('withCharts', () => {
  it.each(pages)('draws charts of docs/bench/%s.md for both widths', (name) => {
    const text = withCharts(root, name, readFileSync(join(root, `docs/bench/${name}.md`), 'utf8'))
    const figures = text.match(/^```chart\n<figure.*<\/figure>$/gm)
    // Its ratios are of different networks, row by row.
    expect(figures === null).toBe(name === 'kernel_mechanisms')
    for (const figure of figures ?? []) {
      expect(figure.match(/<svg [^>]*class="chart (wide|narrow)"/g)).toHaveLength(2)
      expect(figure).toMatch(/<(circle|rect)/)
      expect(figure).not.toMatch(/NaN|undefined|<style/)
    }
  })

  it('shows each geometric mean of docs/bench/space.md', () => {
    const space = readFileSync(join(root, 'docs/bench/space.md'), 'utf8')
    const means = geometricMeans(space)
    expect(new Set(means.map(({ set }) => set)).size).toBeGreaterThan(1)
    const text = withCharts(root, 'space', space)
    for (const { kind, ratio } of means) expect(text).toMatch(new RegExp(`<title>${kind}, [^:<]*: ${ratio}</title>`))
  })

  it('throws for a page without charts', () => {
    expect(() => withCharts(root, 'a_new_page', '')).toThrow('docs/bench/a_new_page.md')
  })
})

describe('setTitle', () => {
  it('has another title for each instruction set of the cpu executor', () => {
    const source = readFileSync(join(root, 'packages/cpu/src/instruction_set.ts'), 'utf8')
    const [, list] = /INSTRUCTION_SETS = Object\.freeze\(\[([^\]]*)\]/.exec(source)
    const sets = list.match(/[\w-]+/g)
    expect(sets).toContain('avx2')
    expect(new Set(sets.map(setTitle)).size).toBe(sets.length)
  })

  it('throws for a set without a title', () => {
    expect(() => setTitle('sve2')).toThrow('Add a title of the instruction set sve2')
  })
})
