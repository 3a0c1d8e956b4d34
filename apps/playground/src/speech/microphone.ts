/** A recording in progress. */
export interface MicrophoneRecording {
  /** Ends the recording, releases the microphone and gives the sound as a file. */
  finish(): Promise<File>
  /** Releases the microphone; the sound is dropped. */
  discard(): void
}

/** Without loss if the browser can; its own default otherwise. */
const FORMAT = 'audio/webm;codecs=pcm'

/** By the name of the error. */
const REFUSALS: ReadonlyMap<string, string> = new Map([
  [
    'NotAllowedError',
    'the browser does not allow it for this page. Allow it in the settings of the page, and record again.',
  ],
  ['NotFoundError', 'there is none. Connect one, or drop an audio file.'],
  ['NotReadableError', 'another program uses it. Close that program, and record again.'],
])

/**
 * Begins to record one channel. The browser's own noise suppression is off: the model gets the sound as it is.
 *
 * @throws Error without a microphone, or if the user denies access to it
 */
export async function recordMicrophone(): Promise<MicrophoneRecording> {
  // Absent on pages that are served without encryption.
  if (navigator.mediaDevices === undefined) {
    throw new Error('Cannot use the microphone as browsers allow it on https: and localhost only.')
  }
  const audio = { channelCount: 1, noiseSuppression: false, echoCancellation: false, autoGainControl: false }
  const stream = await navigator.mediaDevices.getUserMedia({ audio }).catch((cause: Error) => {
    throw new Error(`Cannot use the microphone: ${REFUSALS.get(cause.name) ?? cause.message}`, { cause })
  })
  const release = () => {
    for (const track of stream.getTracks()) track.stop()
  }
  const recorder = new MediaRecorder(stream, MediaRecorder.isTypeSupported(FORMAT) ? { mimeType: FORMAT } : {})
  const parts: Blob[] = []
  recorder.ondataavailable = ({ data }) => parts.push(data)
  const stopped = new Promise<void>((resolve) => recorder.addEventListener('stop', () => resolve(), { once: true }))
  recorder.start()
  return {
    async finish() {
      // The recorder has stopped already if the microphone was unplugged.
      if (recorder.state !== 'inactive') recorder.stop()
      await stopped
      release()
      return new File(parts, 'recording', { type: recorder.mimeType })
    },
    discard: release,
  }
}
