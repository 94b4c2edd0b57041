// Classifying the error messages of real CLIs.
import { expect, test } from 'vitest'
import { diagnose } from './diagnosis.ts'

test.each([
  ["There's an issue with the selected model (made-up). It may not exist or you may not have access to it.", 404],
  ['unexpected status 404 Not Found: model: made-up, url: http://127.0.0.1/v1/responses', 404],
  ['The model `made-up` does not exist or you do not have access to it.', 404],
  ["The 'made-up' model is not supported when using Codex with a ChatGPT account.", 400],
  ['models/made-up is not found for API version v1beta, or is not supported for generateContent.', 404],
  ['Model not found: x/made-up.', 0],
  ['Error: Model "made-up" not found. Use --list-models to see available models.', 0],
])('an unknown model: %s', (said, status) => {
  expect(diagnose(said, status)).toBe('unknown-model')
})

test.each([
  [
    'Model metadata for `gpt-5` not found. Defaulting to fallback metadata; this can degrade performance.',
    0,
    'crashed',
  ],
  ['The model is overloaded. Please try again later.', 503, 'overloaded'],
  ['You have reached the rate limit of this model.', 429, 'rate-limited'],
  ['No conversation found with session ID', 0, 'session-lost'],
  ['prompt is too long', 400, 'refused'],
] as const)('nothing about the model: %s', (said, status, why) => {
  expect(diagnose(said, status)).toBe(why)
})
