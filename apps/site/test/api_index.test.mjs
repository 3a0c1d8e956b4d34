import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { apiIndex } from '../api_index.mjs'

const root = fileURLToPath(new URL('../../..', import.meta.url))

describe('apiIndex', () => {
  const links = [...apiIndex(root).matchAll(/^\| \[`([^`]+)`\]\(([^)]+)\) \| \S/gm)].map(([, name, link]) => [
    name,
    link,
  ])

  it('lists the facade first, then every public entry, and no private package or internal entry', () => {
    const names = links.map(([name]) => name)
    expect(names[0]).toBe('@cudnn-rnn/rnn')
    expect(names).toEqual(expect.arrayContaining(['@cudnn-rnn/train', '@cudnn-rnn/train/ctc', '@cudnn-rnn/rnn/report']))
    expect(names).not.toContain('@cudnn-rnn/conformance')
    expect(names).not.toContain('@cudnn-rnn/canonical/rules')
    expect(new Set(names).size).toBe(names.length)
  })

  it('links to the page of each', () => {
    for (const [name, link] of links) expect(link).toBe(`${name}/index.md`)
  })
})
