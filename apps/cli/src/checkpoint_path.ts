import { stat } from 'node:fs/promises'
import { latestCheckpoint } from '@cudnn-rnn/rnn'
import { codedRangeError } from './coded_error.js'

/**
 * The prefix of the checkpoint that a person names: a prefix, one of its files, or a directory, which means the latest in it.
 *
 * @throws RangeError `ERR_NO_CHECKPOINT` for a directory without one
 */
export async function checkpointPrefix(path: string): Promise<string> {
  const isDirectory = await stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  )
  if (!isDirectory) return path.replace(/\.(?:index|meta|data-\d{5}-of-\d{5})$/, '')
  const latest = await latestCheckpoint(path)
  if (latest !== null) return latest
  throw codedRangeError(
    'ERR_NO_CHECKPOINT',
    `Cannot open a checkpoint as directory ${path} must hold one: name a prefix, such as ${path}/model-100`,
    { path },
  )
}
