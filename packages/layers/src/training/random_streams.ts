/** Keeps the streams of a seed apart from the seeds of other layers, which follow it. */
const STREAM_DISTANCE = 2 ** 32
/** Numbers of a stream of masks that are drawn one after another: more than a training draws. */
const STREAM_NUMBERS = 2 ** 36
/** Streams of a rank, one for each time that a training continues over another number of ranks. */
const STREAMS_OF_RANK = 16
const MOST_RANKS = 2 ** 13

/** The seed of a stream of masks; stream 0 has `seed` itself. */
export function seedOfStream(seed: number, stream: number): number {
  return stream === 0 ? seed : (seed + stream * STREAM_DISTANCE) % Number.MAX_SAFE_INTEGER
}

/** The start of a stream, for a generator that has one sequence of numbers for a seed. */
export function positionOfStream(stream: number): number {
  return stream * STREAM_NUMBERS
}

/** @param generation number of streams that the rank has begun before, at resumes over another number of ranks */
export function streamOfRank(rank: number, generation: number): number {
  return (rank % MOST_RANKS) * STREAMS_OF_RANK + (generation % STREAMS_OF_RANK)
}
