import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'
import { sitePages } from '../pages.mjs'
import { addMarkdownRules, searchedText } from './markdown_rules.js'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const api = fileURLToPath(new URL('../content/api/typedoc-sidebar.json', import.meta.url))

interface SidebarItem {
  text: string
  link?: string
  collapsed?: boolean
  items?: SidebarItem[]
}

/** One sidebar per package: its own names, and the other packages as links. All names in every page would be 100 KB. */
function apiSidebars(): Record<string, SidebarItem[]> {
  if (!existsSync(api)) return {}
  const all: SidebarItem[] = JSON.parse(readFileSync(api, 'utf8'))
  const ofFacade = ({ text }: SidebarItem) => text.startsWith('@cudnn-rnn/rnn')
  const packages = [...all.filter(ofFacade), ...all.filter((item) => !ofFacade(item))]
  const index = { text: 'Packages', items: packages.map(({ text, link }) => ({ text, ...(link && { link }) })) }
  return Object.fromEntries([
    ...packages.map(({ text, items }) => [`/api/${text}/`, [...(items ?? []), index]]),
    ['/api/', [index]],
  ])
}

const link = (page: string) => `/${page.replace(/(index)?\.md$/, '')}`

// Both run in the reader's browser too.
/** Words of a text, without numbers; a name such as ERR_INVALID_OPTION or CudnnLSTM is a word, and its parts are. */
function searchedWords(text: string): string[] {
  return text.split(/[^\p{L}\p{N}_]+/u).flatMap((word) => {
    const parts = word.match(/\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}+/gu) ?? []
    if (parts.length === 0) return []
    return parts.length > 1 ? [word, ...parts] : [word]
  })
}

/** The classes and functions that most programs use come before all else. */
function searchedBoost(page: string): number {
  return /\/api\/@cudnn-rnn\/rnn\/(?:classes|functions)\//.test(page) ? 3 : 1
}

export default defineConfig({
  title: 'cudnn-rnn',
  description: 'Recurrent networks in JavaScript: training, import from Python, streams, on GPUs, CPUs and in browsers',
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  srcDir: 'content',
  cleanUrls: true,
  // The sidebar of the API once, not in every page.
  metaChunk: true,
  // Docstrings and documents write <prefix> and the like: text, not elements.
  markdown: { html: false, config: addMarkdownRules },
  ignoreDeadLinks: [/^\/bench\/results\//],
  themeConfig: {
    search: {
      provider: 'local',
      options: {
        _render: searchedText,
        miniSearch: { options: { tokenize: searchedWords }, searchOptions: { boostDocument: searchedBoost } },
      },
    },
    outline: [2, 3],
    nav: [
      { text: 'Guide', link: '/guide/getting_started', activeMatch: '^/guide/' },
      { text: 'Cookbook', link: '/cookbook/', activeMatch: '^/cookbook/' },
      { text: 'API', link: '/api/', activeMatch: '^/api/' },
      { text: 'Benchmarks', link: '/bench/', activeMatch: '^/bench/' },
      { text: 'Changelog', link: '/changelog' },
    ],
    sidebar: {
      ...apiSidebars(),
      '/': sitePages(root).map(({ section, pages }) => ({
        text: section,
        collapsed: section === 'Development' || section === 'Packages',
        items: pages.map(({ title, page }) => ({ text: title, link: link(page) })),
      })),
    },
    socialLinks: [{ icon: 'github', link: 'https://github.com/cudnn-rnn/cudnn-rnn' }],
    footer: { message: 'Apache-2.0' },
  },
})
