import { SAMPLE_RATE, wavFile } from '@cudnn-rnn/pretrained'
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { Recording } from './recording.js'
import type { DenoisedSpeech, DetectedSpeech } from './speech_messages.js'
import { Probability, TimeAxis, Waveform } from './time_plots.js'
import { peak } from './waveform_outline.js'

export interface SpeechResultProps {
  readonly recording: Recording
  readonly detected: DetectedSpeech | undefined
  readonly denoised: DenoisedSpeech | undefined
  readonly onDownload: (files: readonly File[]) => void
}

/** A recording and the results of the models, on one scale of time and loudness. */
export function SpeechResult({ recording, detected, denoised, onDownload }: SpeechResultProps) {
  const { samples, name } = recording
  // The sound that the models take: 16 kHz, one channel.
  const file = useMemo(() => new File([wavFile(samples)], name, { type: 'audio/wav' }), [samples, name])
  const seconds = samples.length / SAMPLE_RATE
  const loudest = useMemo(() => peak(samples), [samples])
  const segments = detected?.segments ?? []
  const speech = segments.reduce((sum, { from, to }) => sum + to - from, 0)
  const marked = detected === undefined ? '' : `, ${speech.toFixed(1)} s of it speech`
  return (
    <>
      <h3>Recording</h3>
      <figure>
        <figcaption>Waveform{detected !== undefined && <Key />}</figcaption>
        <Waveform label={`Waveform of ${seconds.toFixed(1)} s${marked}`} {...{ samples, loudest, segments }} />
        <TimeAxis seconds={seconds} />
        <Player label="Recording" file={file} />
      </figure>
      {detected !== undefined && (
        <figure>
          <figcaption>Probability of speech, from 0 to 1; the dashed line is at 0.5</figcaption>
          <Probability
            label={`Probability of speech over ${seconds.toFixed(1)} s`}
            {...{ segments, seconds, probabilities: detected.probabilities }}
          />
          <TimeAxis seconds={seconds} />
          <p class="status">
            {(seconds > 0 ? (100 * speech) / seconds : 0).toFixed(1)} % of the recording is speech, in {segments.length}{' '}
            {segments.length === 1 ? 'segment' : 'segments'}.
          </p>
          {segments.length > 0 && (
            <details>
              <summary>Segments</summary>
              <ul class="names">
                {segments.map(({ from, to }) => (
                  <li key={from}>
                    {from.toFixed(2)} s to {to.toFixed(2)} s
                  </li>
                ))}
              </ul>
            </details>
          )}
        </figure>
      )}
      {denoised !== undefined && (
        <>
          <h3>Denoised</h3>
          <figure>
            <figcaption>Waveform, on the scale of the recording</figcaption>
            <Waveform label="Waveform without noise" {...{ samples: denoised.samples, loudest, segments }} />
            <TimeAxis seconds={seconds} />
            <Player label="Denoised recording" file={denoised.file} />
          </figure>
          <div class="row">
            <button type="button" onClick={() => onDownload([denoised.file])}>
              Download WAV
            </button>
          </div>
        </>
      )}
    </>
  )
}

function Key() {
  return (
    <>
      , <i class="swatch" /> speech
    </>
  )
}

/** The browser's controls for a file of sound. */
function Player({ label, file }: { readonly label: string; readonly file: File }) {
  const [url, setUrl] = useState<string>()
  useEffect(() => {
    const made = URL.createObjectURL(file)
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [file])
  // biome-ignore lint/a11y/useMediaCaption: a recording of the reader has no captions
  return <audio controls src={url} aria-label={label} />
}
