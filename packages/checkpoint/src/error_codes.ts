/**
 * The errors that this package defines. docs/errors.md, the types and the check of every code are made of it.
 *
 * @public
 */
export const ERROR_CODES = {
  ERR_CHECKPOINT_CHECKSUM: {
    meaning: 'bytes of a checkpoint do not have the checksum that was written with them',
    remedy: 'restore an older checkpoint: the file was damaged after it was written',
  },
  ERR_CHECKPOINT_CORRUPT: {
    meaning: 'a checkpoint is truncated, corrupt or inconsistent',
    remedy: 'restore an older checkpoint, or copy the file again',
  },
  ERR_CHECKPOINT_IO: {
    meaning: 'the system refused to read or write a file of a checkpoint',
    remedy:
      "look at `cause`: full disk, permissions, a directory in the file's place; under Node's permission model allow the folder (`--allow-fs-read`, `--allow-fs-write`), and where it forbids to flush (Node.js 24) run without `--permission`",
  },
  ERR_CHECKPOINT_LOCKED: {
    meaning: 'another process keeps the directory locked',
    remedy: 'wait for the other save, or remove the lock of a process that no longer runs',
  },
  ERR_CHECKPOINT_NOT_FOUND: {
    meaning: 'no checkpoint has that prefix; a directory or an `.index` file is not a prefix',
    remedy: "pass a prefix such as `run/model-100`, or the result of `latestCheckpoint('run')`",
  },
  ERR_CHECKPOINT_REPLACED: {
    meaning: 'a checkpoint was replaced or removed, by a save or by `maxToKeep`, while it was read',
    remedy: "open it again, or what `latestCheckpoint('run')` finds now",
  },
  ERR_CHECKPOINT_UNSUPPORTED: {
    meaning: 'a checkpoint uses a part of the format that is not read here',
    remedy: 'save it again with TensorFlow as a V2 checkpoint of numbers',
  },
  ERR_TENSOR_INVALID: {
    meaning: 'a tensor cannot be written, or is another than was requested',
    remedy: 'the message states name, shape and type',
  },
  ERR_TENSOR_NOT_FOUND: {
    meaning: 'a checkpoint has no tensor of that name',
    remedy: '`reader.names()` lists all',
  },
} as const

/** Codes of the errors that this package defines. */
export type CheckpointErrorCode = keyof typeof ERROR_CODES
