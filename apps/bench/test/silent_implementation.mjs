// Plays an implementation for tests: `silent_implementation.mjs <how it behaves>`.
import { createInterface } from 'node:readline'

const [behavior] = process.argv.slice(2)
const say = (line) => console.log(JSON.stringify(line))

if (behavior === 'absent') {
  say({ ready: false, reason: 'no such library' })
} else if (behavior === 'crashing') {
  console.error('Segmentation fault')
  process.exit(1)
} else {
  console.log('{chatter of a library')
  console.log('Loading …')
  say({ ready: true, version: '1.2.3', detail: 'as if' })
  for await (const line of createInterface({ input: process.stdin })) {
    const { request } = JSON.parse(line)
    if (request === 'run') say({ ok: true, answer: { times: [1, 2] } })
    else if (request === 'prepare') process.exit(0)
    else say({ ok: false, message: `Cannot ${request}` })
  }
}
