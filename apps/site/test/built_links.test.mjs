import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { brokenLinks } from '../built_links.mjs'

describe('brokenLinks', () => {
  let folder
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'site-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  function linksOf(files) {
    for (const [name, html] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true })
      writeFileSync(join(folder, name), html)
    }
    return brokenLinks(folder)
  }

  it('follows clean URLs, folders, files, anchors and percent-encoded names', () => {
    const links = [
      '/guide/train',
      './train#a',
      '../',
      '/bench/',
      '/data.json',
      '#here',
      'train#caf%C3%A9',
      '/guide/train?x=1',
    ]
    expect(
      linksOf({
        'index.html': '',
        'data.json': '{}',
        'bench/index.html': '',
        'guide/train.html': '<h2 id="a">A</h2><a id="café"></a>',
        'guide/index.html': `<p id="here">${links.map((link) => `<a href="${link}">x</a>`).join('')}</p>`,
      }),
    ).toEqual([])
  })

  it('reports pages and anchors that do not exist, in the page itself and in others', () => {
    expect(
      linksOf({
        'a.html':
          '<a href="/b#c">x</a><a href="/nowhere">x</a><a href="#d">x</a><a href="/folder/">x</a><img src="e.png">',
        'b.html': '<h2 id="C">C</h2>',
      }),
    ).toEqual([
      'a.html: /b#c: no such anchor',
      'a.html: /nowhere: no such page',
      'a.html: #d: no such anchor',
      'a.html: /folder/: no such page',
      'a.html: e.png: no such page',
    ])
  })

  it('leaves links to other hosts alone, and anchors of files that are not pages', () => {
    const links =
      '<a href="https://example.org/x#y">x</a><a href="mailto:a@example.org">x</a><a href="data.json#L3">x</a>'
    expect(linksOf({ 'a.html': links, 'data.json': '{}' })).toEqual([])
  })
})
