/** @jsxImportSource preact */
// Vite's search for dependencies does not read the tsconfig of a test: without this it fails, and pages reload during tests.
import { FRAME, SAMPLE_RATE, wavFile } from '@cudnn-rnn/pretrained'
import { render } from 'preact'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { cdp, page, userEvent } from 'vitest/browser'
import tagger from '../../../fixtures/interop/pytorch/tagger.safetensors?url'
import { App } from '../src/app.js'
import '../src/style.css'

let root: HTMLElement

beforeEach(() => {
  location.hash = ''
  root = document.body.appendChild(document.createElement('div'))
  render(<App />, root)
})

afterEach(() => {
  vi.restoreAllMocks()
  // Ends the workers.
  render(null, root)
  root.remove()
})

/** Waits for a page that is busy with others. */
const eventually = <Result,>(check: () => Result) => vi.waitFor(check, { timeout: 100_000 })

function visible<Kind extends HTMLElement>(selector: string, text = ''): Kind {
  const found = [...root.querySelectorAll<Kind>(selector)].find(
    (element) => element.closest('[hidden]') === null && element.textContent?.includes(text),
  )
  if (found === undefined) throw new Error(`The page has no ${selector} ${text}`)
  return found
}

async function fetched(url: string, name: string): Promise<File> {
  return new File([await (await fetch(url)).arrayBuffer()], name)
}

async function drop(files: readonly File[]): Promise<void> {
  const dropped = new DataTransfer()
  for (const file of files) dropped.items.add(file)
  await eventually(() => visible('.drop'))
  visible('.drop').dispatchEvent(new DragEvent('drop', { dataTransfer: dropped, cancelable: true, bubbles: true }))
}

/** The names of files that the page hands to the browser, which does not get them. */
function downloads(): string[] {
  const names: string[] = []
  vi.spyOn(HTMLAnchorElement.prototype, 'click').mockImplementation(function (this: HTMLAnchorElement) {
    names.push(this.download)
  })
  return names
}

const step = () => Number(visible('[data-step]').dataset['step'])

it('trains in a worker until the stop button, then writes and shows the gates', async () => {
  visible('button', 'Train').click()
  await eventually(() => expect(step()).toBeGreaterThan(2))
  await eventually(() => expect(visible('.plot canvas').clientWidth).toBeGreaterThan(100))
  visible('button', 'Stop').click()
  await eventually(() => visible('h3', 'Let it write'))
  const stopped = step()
  expect(stopped).toBeLessThan(1000)

  visible('button', 'Write').click()
  await eventually(() => expect(visible('.written').textContent?.length).toBeGreaterThan(300))
  await eventually(() => expect(visible<HTMLButtonElement>('button', 'Show').disabled).toBe(false))
  visible('button', 'Show').click()
  await eventually(() => expect(root.querySelectorAll('.scroll canvas')).toHaveLength(6))
  const columns = () => visible<HTMLCanvasElement>('.scroll canvas').width
  // A column for each character, while the text is read.
  const first = columns()
  expect(first).toBeLessThan(20)
  await eventually(() => expect(columns()).toBeGreaterThan(first + 3))
  await eventually(() => expect(columns()).toBe('Call me Ishmael. Some years ago'.length))
  await eventually(() => expect(isDisabled('Show')).toBe(false))
  visible('button', 'Show').click()
  await eventually(() => expect(columns()).toBeGreaterThan(3))
  visible('button', 'Stop reading').click()
  await eventually(() => expect(isDisabled('Show')).toBe(false))
  expect(columns()).toBeLessThan(31)
  expect(step()).toBe(stopped)
})

it('shows a dropped weight file, runs it and converts it', async () => {
  location.hash = 'weights'
  await drop([await fetched(tagger, 'tagger.safetensors')])
  await eventually(() => expect(visible('[role=status]').textContent).toContain('safetensors: 2 recurrent networks'))
  await eventually(() => expect(root.querySelectorAll('.maps canvas').length).toBeGreaterThan(5))

  visible('button', 'Run').click()
  await eventually(() => visible('figcaption', 'ms for the sequence'))

  const clicked = downloads()
  await eventually(() => expect(visible<HTMLButtonElement>('button', 'Download').disabled).toBe(false))
  visible('button', 'Download').click()
  await eventually(() => expect(clicked).toEqual([expect.stringMatching(/\.safetensors$/)]))
})

it('opens the weight file that it has as an example', async () => {
  location.hash = 'weights'
  await eventually(() => visible('button', 'an example'))
  visible('button', 'an example').click()
  await eventually(() => expect(visible('[role=status]').textContent).toContain('safetensors: 2 recurrent networks'))
})

it('opens and runs a whole model of Keras', async () => {
  location.hash = 'weights'
  await eventually(() => visible('button', 'a whole model'))
  visible('button', 'a whole model').click()
  await eventually(() => expect(visible('pre').textContent).toContain('cudnnGRU'))
  await eventually(() => expect(isDisabled('Run')).toBe(false))
  visible('button', 'Run').click()
  await eventually(() => visible('figcaption', 'ms for the sequence'))
})

/** A second of a tone with three seconds of silence behind it. */
function tone(): File {
  const samples = new Float32Array(4 * SAMPLE_RATE)
  for (let n = 0; n < SAMPLE_RATE; n++) samples[n] = 0.5 * Math.sin((2 * Math.PI * 440 * n) / SAMPLE_RATE)
  return new File([wavFile(samples)], 'tone.wav')
}

const isDisabled = (text: string) => visible<HTMLButtonElement>('button', text).disabled

it('shows a dropped and a recorded sound, and refuses other files', async () => {
  location.hash = 'speech'
  await drop([tone()])
  await eventually(() => expect(visible('dd').textContent).toBe('tone.wav, 4.0 s'))
  expect(visible('.time-plot .wave').getAttribute('d')).toMatch(/^M0/)
  await eventually(() => expect(visible<HTMLAudioElement>('audio').src).toMatch(/^blob:/))
  expect(isDisabled('Run')).toBe(true)

  await drop([new File(['no sound'], 'letter.txt')])
  await eventually(() => expect(visible('[role=alert]').textContent).toContain('Cannot read letter.txt'))
  await drop([await fetched(tagger, 'tagger.onnx')])
  await eventually(() => expect(visible('[role=alert]').textContent).toContain('tagger.onnx'))
  expect(visible('dd').textContent).toBe('tone.wav, 4.0 s')
  expect(isDisabled('Run')).toBe(true)

  visible('button', 'Record').click()
  await eventually(() => expect(visible('[role=status]').textContent).toMatch(/^Recording: [1-9]/))
  visible('button', 'End recording').click()
  await eventually(() => expect(visible('dd').textContent).toMatch(/^recording, [1-9]\d*\.\d s$/))
})

const { silero, dtln, speech } = Object.fromEntries(
  Object.entries(
    import.meta.glob('../../../../shared/models/{1_silero_vad_v6.2/{silero*.onnx,test.wav},2_dtln/model.h5}', {
      ...{ query: '?url', import: 'default', eager: true },
    }),
  ).map(([path, url]) => [path.endsWith('wav') ? 'speech' : path.endsWith('h5') ? 'dtln' : 'silero', url as string]),
)
const areThere = silero !== undefined && dtln !== undefined && speech !== undefined

it.skipIf(!areThere)('marks speech and takes out noise until the stop button (needs ../shared/models)', async () => {
  location.hash = 'speech'
  // Eight seconds, which begin with silence.
  const wav = await (await fetch(speech!)).arrayBuffer()
  const samples = Float32Array.from(new Int16Array(wav, 44, 8 * SAMPLE_RATE), (value) => value / 32_768)
  await drop([
    await fetched(silero!, 'silero.onnx'),
    await fetched(dtln!, 'model.h5'),
    new File([wavFile(samples)], 'talk.wav'),
  ])
  await eventually(() => expect(isDisabled('Run')).toBe(false))
  visible('button', 'Run').click()
  await eventually(() => expect(visible('[role=status]').textContent).toMatch(/\d %$/))
  visible('button', 'Stop').click()
  await eventually(() => expect(visible('[role=status]').textContent).toBe('Stopped.'))
  await eventually(() => expect(isDisabled('Run')).toBe(false))

  visible('button', 'Run').click()
  await eventually(() => visible('button', 'Download WAV'))
  const points = visible('polyline').getAttribute('points')!.split(' ')
  expect(points).toHaveLength(Math.floor(samples.length / FRAME))
  expect(visible('.status', 'of the recording is speech').textContent).toMatch(/in \d+ segments?\.$/)
  expect(root.querySelectorAll('.time-plot:has(.speech)')).toHaveLength(3)
  const names = downloads()
  visible('button', 'Download WAV').click()
  expect(names).toEqual(['talk-denoised.wav'])
})

it('is used by the keyboard alone', async () => {
  const tabTo = async (text: string) => {
    for (let presses = 0; presses < 20; presses++) {
      await userEvent.tab()
      if (document.activeElement?.textContent === text) return
    }
    throw new Error(`No 20 presses of Tab reach ${text}`)
  }
  await tabTo('Train')
  await tabTo('Weights')
  await tabTo('Speech')
  await tabTo('Train')
  await userEvent.keyboard('{Enter}')
  await eventually(() => expect(step()).toBeGreaterThan(0))
  await tabTo('Stop')
  await userEvent.keyboard(' ')
  await eventually(() => visible('h3', 'Let it write'))
})

it.each(['light', 'dark'] as const)('fits 360 pixels in %s mode, with the colors of the mode', async (mode) => {
  await page.viewport(360, 740)
  const session = cdp() as unknown as { send(method: string, params: object): Promise<void> }
  await session.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: mode }] })
  for (const part of ['train', 'weights', 'speech']) {
    location.hash = part
    await eventually(() => expect(visible('[aria-current=page]').textContent?.toLowerCase()).toBe(part))
    expect(document.documentElement.scrollWidth).toBeLessThanOrEqual(360)
    const [red = 0] = getComputedStyle(document.body).backgroundColor.match(/\d+/g)!.map(Number)
    expect(red < 128).toBe(mode === 'dark')
  }
})
