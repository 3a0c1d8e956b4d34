import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { withCharts } from '../bench/bench_charts.mjs'
import { bestRatios, lastReports, meanRatios, setTitle } from '../bench/stored_results.mjs'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const pages = readdirSync(join(root, 'docs/bench'))
  .filter((name) => name.endsWith('.md'))
  .map((name) => name.slice(0, -3))

describe('withCharts', () => {
  it.each(pages)('draws charts of docs/bench/%s.md for both widths', (name) => {
    const text = withCharts(root, name, readFileSync(join(root, `docs/bench/${name}.md`), 'utf8'))
    const figures = text.match(/^```chart\n<figure.*<\/figure>$/gm)
    expect(figures).not.toBeNull()
    for (const figure of figures) {
      expect(figure.match(/<svg [^>]*class="chart (wide|narrow)"/g)).toHaveLength(2)
      expect(figure).toMatch(/<(circle|rect)/)
      expect(figure).not.toMatch(/NaN|undefined|<style/)
    }
  })

  it('throws for a page without charts', () => {
    expect(() => withCharts(root, 'a_new_page', '')).toThrow('docs/bench/a_new_page.md')
  })
})

describe('setTitle', () => {
  it('has another title for each instruction set of the cpu executor', () => {
    const source = readFileSync(join(root, 'packages/cpu/src/instruction_set.ts'), 'utf8')
    const [, list] = /INSTRUCTION_SETS = Object\.freeze\(\[(.*)\]/.exec(source)
    const sets = list.split(', ').map((name) => name.slice(1, -1))
    expect(sets).toContain('avx2')
    expect(new Set(sets.map(setTitle)).size).toBe(sets.length)
  })

  it('throws for a set without a title', () => {
    expect(() => setTitle('sve2')).toThrow('Add a title of the instruction set sve2')
  })
})

describe('bestRatios', () => {
  it('agrees with the ratios that the benchmark wrote into docs/bench/cells.md', () => {
    const cells = readFileSync(join(root, 'docs/bench/cells.md'), 'utf8')
    const ratios = bestRatios(lastReports(root).get('avx2'), 'table', 'inference')
    expect(ratios.size).toBe(24)
    for (const [cell, ratio] of ratios) {
      expect(cells).toMatch(new RegExp(`^\\| ${cell} \\| [^|]* \\| ${ratio.toFixed(2)} \\|`, 'm'))
    }
  })
})

describe('meanRatios', () => {
  it('has the implementations that measured every network', () => {
    const means = meanRatios(lastReports(root).get('avx512-vnni'), 'training')
    expect([...means.keys()]).toContain('PyTorch')
    expect(means.get('PyTorch')).toBeCloseTo(0.33, 2)
  })
})
