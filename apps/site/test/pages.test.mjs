import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { sitePages } from '../pages.mjs'

const root = fileURLToPath(new URL('../../..', import.meta.url))

describe('sitePages', () => {
  const pages = sitePages(root).flatMap((section) => section.pages)

  it('has every document of docs/ and no page twice', () => {
    const documents = readdirSync(join(root, 'docs'), { recursive: true })
      .filter((name) => name.endsWith('.md'))
      .map((name) => `docs/${name.replaceAll('\\', '/')}`)
    expect(pages.map(({ source }) => source)).toEqual(expect.arrayContaining(documents))
    expect(new Set(pages.map(({ page }) => page)).size).toBe(pages.length)
  })

  it('names files that exist, each with a title', () => {
    for (const { source, title } of pages) {
      expect(existsSync(join(root, source)), source).toBe(true)
      expect(title.length, source).toBeGreaterThan(2)
    }
  })
})
