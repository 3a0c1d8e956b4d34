import { expect, it } from 'vitest'
import * as checkpoint from '../src/index.js'

it('@cudnn-rnn/checkpoint exports exactly these names', () => {
  expect(Object.keys(checkpoint).sort()).toMatchInlineSnapshot(`
    [
      "CheckpointError",
      "FileLock",
      "MemoryStore",
      "blobSource",
      "directoryStore",
      "dtypeOfArray",
      "isFileStore",
      "latestCheckpoint",
      "memorySource",
      "openCheckpoint",
      "openCheckpointFrom",
      "openFileSource",
      "readCheckpointState",
      "recoverSaves",
      "resolvePath",
      "responseSource",
      "writeCheckpoint",
      "writeCheckpointState",
    ]
  `)
})
