import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The changelog page as Markdown: the changesets that are not released yet, then `packages/rnn/CHANGELOG.md`, which
 * `changeset version` writes. All packages have one version, so the facade's changelog has every release.
 */
export function changelogPage(root) {
  const folder = join(root, '.changeset')
  const entries = readdirSync(folder)
    .filter((name) => name.endsWith('.md') && name !== 'README.md')
    .sort()
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .map(unreleasedEntry)
  const unreleased = entries.length === 0 ? '' : `## Unreleased\n\n${entries.join('\n')}\n`
  const released = join(root, 'packages/rnn/CHANGELOG.md')
  const releases = existsSync(released) ? readFileSync(released, 'utf8').replace(/^# .*\n/, '') : ''
  return `# Changelog\n\nAll packages have the same version.\n\n${unreleased}${releases}`
}

/** `---\n"@cudnn-rnn/rnn": minor\n---\n\ntext` as a list item that names its packages. */
function unreleasedEntry(changeset) {
  const [, frontMatter, text] = /^---\n([\s\S]*?)\n---\n+([\s\S]*)$/.exec(changeset) ?? []
  if (text === undefined)
    throw new Error(`Cannot read a changeset as it has no front matter: ${changeset.slice(0, 80)}`)
  const names = [...frontMatter.matchAll(/@cudnn-rnn\/([\w-]+)/g)].map(([, name]) => `\`${name}\``)
  return `- ${text.trim().replaceAll('\n', '\n  ')} (${names.join(', ')})`
}
