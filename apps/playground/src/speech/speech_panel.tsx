import { SAMPLE_RATE } from '@cudnn-rnn/pretrained'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { download } from '../drawing/download.js'
import { FileDrop } from '../drawing/file_drop.js'
import { useWorker } from '../worker/use_worker.js'
import { decodeRecording } from './decode_recording.js'
import { fileKind, type SpeechModel } from './file_kind.js'
import { type MicrophoneRecording, recordMicrophone } from './microphone.js'
import type { Recording } from './recording.js'
import type { DenoisedSpeech, DetectedSpeech, SpeechMessage, SpeechRequest } from './speech_messages.js'
import { SpeechResult } from './speech_result.js'

const start = () => new Worker(new URL('./speech_worker.ts', import.meta.url), { type: 'module' })

const MODELS = {
  silero: { title: 'Silero VAD', task: 'Marking speech', absent: 'no file yet: speech is not marked' },
  dtln: { title: 'DTLN', task: 'Denoising', absent: 'no file yet: noise stays' },
} as const

/** Takes the noise out of a recording and marks the speech in it. */
export function SpeechPanel() {
  const [models, setModels] = useState<Partial<Record<SpeechModel, string>>>({})
  const [recording, setRecording] = useState<Recording>()
  const [detected, setDetected] = useState<DetectedSpeech>()
  const [denoised, setDenoised] = useState<DenoisedSpeech>()
  const [progress, setProgress] = useState<{ readonly model: SpeechModel; readonly share: number }>()
  const [isProcess, setProcess] = useState(false)
  const [note, setNote] = useState('')
  const [reading, setReading] = useState<string>()
  const [refusal, setRefusal] = useState<string>()
  const microphone = useMicrophone()

  const worker = useWorker<SpeechRequest, SpeechMessage>(start, (message) => {
    if (message.kind === 'opened') setModels((before) => ({ ...before, [message.model]: message.name }))
    else if (message.kind === 'progress') setProgress(message)
    else if (message.kind === 'detected') setDetected(message)
    else if (message.kind === 'denoised') setDenoised(message)
    else setNote(`Computed in ${message.seconds.toFixed(1)} s.`)
  })
  // Before the buttons can be pressed again, so that it does not end the next task.
  useLayoutEffect(() => {
    if (!worker.isBusy) setProcess(false)
  }, [worker.isBusy])
  const clear = () => {
    setDetected(undefined)
    setDenoised(undefined)
    setProgress(undefined)
    setNote('')
  }
  const attempt = async (action: () => Promise<void>) => {
    setRefusal(undefined)
    await action().catch((error: Error) => setRefusal(error.message))
  }
  const take = async (file: File) => {
    setReading(file.name)
    try {
      const samples = await decodeRecording(file)
      clear()
      setRecording({ name: file.name, samples })
    } finally {
      setReading(undefined)
    }
  }
  const open = (files: readonly File[]) =>
    attempt(async () => {
      for (const file of files) {
        const kind = await fileKind(file)
        if (kind === 'recording') await take(file)
        else worker.begin({ kind: 'open', model: kind, file })
      }
    })
  const record = () =>
    attempt(async () => {
      const file = await microphone.toggle()
      if (file !== undefined) await take(file)
    })
  const run = () => {
    if (recording === undefined) return
    clear()
    setRefusal(undefined)
    setProcess(true)
    worker.begin({ kind: 'process', samples: recording.samples, name: recording.name })
  }
  const stop = () => {
    setNote('Stopped.')
    worker.stop()
  }
  const hasModel = models.silero !== undefined || models.dtln !== undefined
  const isRunning = worker.isBusy && isProcess
  const isReady = recording !== undefined && hasModel && reading === undefined && microphone.seconds === undefined
  const status = () => {
    if (microphone.seconds !== undefined) return `Recording: ${microphone.seconds} s`
    if (reading !== undefined) return `Reading ${reading} …`
    if (isRunning && progress === undefined) return 'Starting …'
    if (isRunning && progress !== undefined)
      return `${MODELS[progress.model].task}: ${Math.floor(100 * progress.share)} %`
    return isReady || worker.isBusy ? note : 'Run needs a recording and one of the models.'
  }
  const error = refusal ?? worker.error

  return (
    <>
      <h2>Denoise a recording and mark its speech</h2>
      <p>
        DTLN takes out the noise, Silero VAD finds the speech. Both compute in this tab, on WebAssembly; the recording
        stays here. The models are files of other projects, free under the MIT license. Download them once:{' '}
        <a href="https://github.com/snakers4/silero-vad/blob/master/src/silero_vad/data/silero_vad_16k_op15.onnx">
          silero_vad_16k_op15.onnx
        </a>{' '}
        and <a href="https://github.com/breizhn/DTLN/blob/master/pretrained_model/model.h5">model.h5 of DTLN</a>. One of
        them is enough for its part.
      </p>
      <FileDrop
        label="Drop the model files and a recording here, or choose them"
        multiple
        disabled={isRunning}
        onFiles={open}
      />
      <dl class="parts">
        <dt>Recording</dt>
        <dd class={recording === undefined ? 'muted' : ''}>
          {recording === undefined
            ? 'none yet: drop an audio file, or use the microphone'
            : `${recording.name}, ${(recording.samples.length / SAMPLE_RATE).toFixed(1)} s`}
        </dd>
        {(['silero', 'dtln'] as const).map((model) => [
          <dt key={`${model} title`}>{MODELS[model].title}</dt>,
          <dd key={model} class={models[model] === undefined ? 'muted' : ''}>
            {models[model] ?? MODELS[model].absent}
          </dd>,
        ])}
      </dl>
      <div class="row">
        <button type="button" onClick={record} disabled={isRunning}>
          {microphone.seconds === undefined ? 'Record' : 'End recording'}
        </button>
        <button type="button" class="primary" onClick={run} disabled={worker.isBusy || !isReady}>
          Run
        </button>
        <button type="button" onClick={stop} disabled={!isRunning}>
          Stop
        </button>
      </div>
      <p class="status" role="status">
        {status()}
      </p>
      {isRunning && <progress value={progress?.share ?? 0} aria-label="Share of the recording" />}
      {error !== undefined && (
        <p class="error" role="alert">
          {error}
        </p>
      )}
      {recording !== undefined && (
        <SpeechResult recording={recording} detected={detected} denoised={denoised} onDownload={download} />
      )}
    </>
  )
}

/** The microphone of a panel: a first toggle begins a recording, the next one ends it and has the file. */
function useMicrophone() {
  const [seconds, setSeconds] = useState<number>()
  const recording = useRef<MicrophoneRecording | undefined>(undefined)
  const timer = useRef<ReturnType<typeof setInterval> | undefined>(undefined)
  useEffect(
    () => () => {
      clearInterval(timer.current)
      recording.current?.discard()
    },
    [],
  )
  const toggle = useMemo(
    () => async (): Promise<File | undefined> => {
      if (recording.current === undefined) {
        recording.current = await recordMicrophone()
        setSeconds(0)
        timer.current = setInterval(() => setSeconds((before = 0) => before + 1), 1000)
        return undefined
      }
      const ending = recording.current
      recording.current = undefined
      clearInterval(timer.current)
      setSeconds(undefined)
      return ending.finish()
    },
    [],
  )
  return { seconds, toggle }
}
