import { useMemo, useState } from 'preact/hooks'
import { download } from '../drawing/download.js'
import { useWorker } from '../worker/use_worker.js'
import { ActivityMaps } from './activity_maps.js'
import type {
  CharacterMessage,
  CharacterRequest,
  CharacterSettings,
  LossPoint,
  WatchedCharacter,
} from './character_messages.js'
import firstChapters from './first_chapters.txt?raw'
import { LossPlot } from './loss_plot.js'

const start = () => new Worker(new URL('./character_worker.ts', import.meta.url), { type: 'module' })

/** A curve of more points than a screen has columns says no more. */
const MOST_POINTS = 1200
/** Characters of the text that are watched at once. */
const MOST_WATCHED = 160

type Started = Extract<CharacterMessage, { kind: 'started' }>
type Sample = Extract<CharacterMessage, { kind: 'sample' }>

/** Trains a character model on a text in this tab, lets it write, and shows its gates. */
export function CharacterPanel() {
  const [text, setText] = useState(firstChapters)
  const [settings, setSettings] = useState<CharacterSettings>({ units: 128, layers: 1, steps: 1000 })
  const [started, setStarted] = useState<Started>()
  const [points, setPoints] = useState<readonly LossPoint[]>([])
  const [speed, setSpeed] = useState(0)
  const [samples, setSamples] = useState<readonly Sample[]>([])
  const [task, setTask] = useState<CharacterRequest['kind']>()
  const [prompt, setPrompt] = useState('It was ')
  const [temperature, setTemperature] = useState(0.7)
  const [written, setWritten] = useState('')
  const [watching, setWatching] = useState('Call me Ishmael. Some years ago')
  const [watched, setWatched] = useState<readonly WatchedCharacter[]>([])

  const worker = useWorker<CharacterRequest, CharacterMessage>(start, (message) => {
    if (message.kind === 'started') setStarted(message)
    else if (message.kind === 'losses') {
      setPoints((before) => thinned([...before, ...message.points]))
      setSpeed(message.charactersPerSecond)
    } else if (message.kind === 'sample') setSamples((before) => [message, ...before].slice(0, 4))
    else if (message.kind === 'written') setWritten((before) => before + message.text)
    else if (message.kind === 'watched') setWatched((before) => [...before, message])
    else download(message.files)
  })
  const begin = (request: CharacterRequest) => {
    setTask(request.kind)
    worker.begin(request)
  }
  const train = () => {
    setPoints([])
    setSamples([])
    setWritten('')
    setWatched([])
    setStarted(undefined)
    begin({ kind: 'train', text, settings })
  }
  const last = points.at(-1)
  const heldOut = useMemo(() => points.findLast((point) => point.heldOutBits !== undefined)?.heldOutBits, [points])
  const isTraining = worker.isBusy && task === 'train'
  const choose = (name: keyof CharacterSettings) => (event: Event) => {
    setSettings({ ...settings, [name]: Number((event.currentTarget as HTMLSelectElement).value) })
  }
  const select = (name: keyof CharacterSettings, label: string, values: readonly number[]) => (
    <label>
      {label}
      <select value={settings[name]} onChange={choose(name)} disabled={isTraining}>
        {values.map((value) => (
          <option key={value} value={value}>
            {value.toLocaleString('en-US')}
          </option>
        ))}
      </select>
    </label>
  )

  return (
    <>
      <h2>Train a character model</h2>
      <p>
        An LSTM learns to predict the next character of your text. It trains in this tab, on WebAssembly; the text stays
        here.
      </p>
      <label>
        Text, {text.length.toLocaleString('en-US')} characters
        <textarea
          rows={6}
          spellcheck={false}
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
          disabled={isTraining}
        />
      </label>
      <div class="row">
        {select('units', 'Units', [64, 128, 256])}
        {select('layers', 'Layers', [1, 2, 3])}
        {select('steps', 'Steps', [200, 1000, 3000, 10_000])}
        <button type="button" class="primary" onClick={train} disabled={worker.isBusy}>
          Train
        </button>
        <button type="button" onClick={worker.stop} disabled={!worker.isBusy}>
          Stop
        </button>
      </div>
      <p class="status" role="status" data-step={last?.step ?? 0}>
        {isTraining && started === undefined && 'Starting …'}
        {last !== undefined &&
          `Step ${last.step.toLocaleString('en-US')} of ${settings.steps.toLocaleString('en-US')}: ${last.bits.toFixed(2)} bits per character${heldOut === undefined ? '' : `, ${heldOut.toFixed(2)} held out`}. ${Math.round(speed).toLocaleString('en-US')} characters/s.`}
        {started !== undefined && (
          <>
            {' '}
            <span class="muted">
              {started.parameters.toLocaleString('en-US')} parameters, {started.symbols} symbols.{' '}
              {executor(started.backend)}
            </span>
          </>
        )}
      </p>
      {worker.error !== undefined && (
        <p class="error" role="alert">
          {worker.error}
        </p>
      )}
      {points.length === 0 && !isTraining && (
        <figure>
          <figcaption>For example: after 1,000 steps, half a minute on a laptop, it wrote</figcaption>
          <div class="sample">{EXAMPLE}</div>
        </figure>
      )}
      {points.length > 0 && <LossPlot points={points} />}
      {samples.length > 0 && (
        <>
          <h3>Samples</h3>
          {samples.map(({ step, text }) => (
            <figure key={step}>
              <figcaption>after step {step.toLocaleString('en-US')}</figcaption>
              <div class="sample">{text}</div>
            </figure>
          ))}
        </>
      )}
      {last !== undefined && !isTraining && (
        <>
          <h3>Let it write</h3>
          <form
            class="row"
            onSubmit={(event) => {
              event.preventDefault()
              setWritten('')
              begin({ kind: 'write', prompt, temperature, length: 400 })
            }}
          >
            <label class="grow">
              Beginning
              <input class="wide" value={prompt} onInput={({ currentTarget }) => setPrompt(currentTarget.value)} />
            </label>
            <label>
              Temperature
              <input
                type="number"
                min="0"
                max="2"
                step="0.1"
                value={temperature}
                onInput={({ currentTarget }) => setTemperature(Number(currentTarget.value))}
              />
            </label>
            <button type="submit" disabled={worker.isBusy}>
              Write
            </button>
          </form>
          {written !== '' && <div class="sample written">{written}</div>}

          <h3>Watch the gates</h3>
          <p>
            The first layer reads a text, character by character: each adds a column, with a row for each unit. Gates
            near 1 are open; cell state and hidden state have a sign.
          </p>
          <form
            class="row"
            onSubmit={(event) => {
              event.preventDefault()
              setWatched([])
              begin({ kind: 'watch', text: watching.slice(0, MOST_WATCHED) })
            }}
          >
            <label class="grow">
              Text to read
              <input
                class="wide"
                value={watching}
                maxLength={MOST_WATCHED}
                onInput={({ currentTarget }) => setWatching(currentTarget.value)}
              />
            </label>
            <button type="submit" disabled={worker.isBusy}>
              Show
            </button>
            <button type="button" onClick={worker.stop} disabled={!worker.isBusy || task !== 'watch'}>
              Stop reading
            </button>
          </form>
          {watched.length > 0 && <ActivityMaps read={watched} isReading={worker.isBusy && task === 'watch'} />}

          <h3>Take it with you</h3>
          <div class="row">
            <button
              type="button"
              disabled={worker.isBusy}
              onClick={() => begin({ kind: 'save', format: 'checkpoint' })}
            >
              TensorFlow checkpoint
            </button>
            <button
              type="button"
              disabled={worker.isBusy}
              onClick={() => begin({ kind: 'save', format: 'safetensors' })}
            >
              LSTM as safetensors
            </button>
            <button type="button" disabled={worker.isBusy} onClick={() => begin({ kind: 'save', format: 'onnx' })}>
              Model as ONNX
            </button>
          </div>
        </>
      )}
    </>
  )
}

/** The sample of a training with the settings that the page begins with. */
const EXAMPLE =
  'It was time un the tome head cold this was then saped in it all the cathings into me, and the hangered ever hive a all an are of the Precheard, harpooneer, the harpooneer to my and with much and the mentrous on the creetand sellon concest'

/** The executor without those that were passed over: in a browser they always are the ones that need Node.js. */
function executor(reason: string): string {
  return reason.split(' (', 1)[0]
}

/** At most MOST_POINTS points; evaluations are kept. */
function thinned(points: readonly LossPoint[]): readonly LossPoint[] {
  if (points.length <= MOST_POINTS) return points
  return points.filter(({ heldOutBits }, index) => index % 2 === 1 || heldOutBits !== undefined)
}
