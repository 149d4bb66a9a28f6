/**
 * An account of AWS for tests, with one stack that hosts a console: CloudFormation describes the stack, S3 stores what
 * `aptix console upload` sends, and a distribution serves it with the headers of template.yaml.
 *
 * @module
 */

import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { listen } from './listen.js'

const BUCKET = 'agent-dev-consolebucket-1'
const FRAME = 'console/diagram-frame.html'
const run = promisify(execFile)

export class Hosting {
  /** @type {Map<string, { bytes: Buffer, type: string, cache: string }>} */
  objects = new Map()
  /** @type {Record<string, string>} */
  outputs = {}
  /** @type {Record<string, string>} */
  parameters = {}
  #folder = mkdtempSync(join(tmpdir(), 'aptix-hosting-'))

  /**
   * @param {{ url: string, end: () => void }} distribution
   * @param {{ url: string, end: () => void }} aws
   */
  constructor(distribution, aws) {
    this.distribution = distribution
    this.aws = aws
    this.url = distribution.url
  }

  /**
   * @param {string} api
   * @param {{ issuer: string, audience: string }} identity
   */
  static async start(api, { issuer, audience }) {
    /** @type {Hosting} */
    let hosting
    const distribution = await listen((request, response) => hosting.#serve(request, response))
    const aws = await listen((request, response) => hosting.#store(request, response))
    hosting = new Hosting(distribution, aws)
    hosting.outputs = { ApiUrl: api, ConsoleUrl: `${distribution.url}/`, ConsoleBucketName: BUCKET }
    hosting.parameters = { AuthMode: 'oidc', OidcIssuer: issuer, TokenAudiences: audience }
    return hosting
  }

  /**
   * @param {import('node:http').IncomingMessage} request
   * @param {import('node:http').ServerResponse} response
   */
  #serve(request, response) {
    const name = new URL(request.url ?? '/', this.url).pathname.slice(1) || 'index.html'
    const found = request.method === 'GET' ? this.objects.get(name) : undefined
    const file = found ?? this.objects.get('console/api/not-found')
    const policy = name === FRAME ? "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts" : "frame-ancestors 'none'"
    const headers = { 'content-type': file?.type, 'cache-control': file?.cache, 'content-security-policy': policy, 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' }
    response.writeHead(found ? 200 : 404, headers).end(file?.bytes)
  }

  /**
   * @param {import('node:http').IncomingMessage} request
   * @param {import('node:http').ServerResponse} response
   */
  async #store(request, response) {
    const parts = []
    for await (const part of request) parts.push(part)
    const [, name] = new RegExp(`^/${BUCKET}/([^?]+)`).exec(request.url ?? '') ?? []
    if (request.method === 'PUT' && name) {
      const { 'content-type': type = '', 'cache-control': cache = '' } = request.headers
      this.objects.set(decodeURIComponent(name), { bytes: Buffer.concat(parts), type, cache })
      return response.writeHead(200).end()
    }
    const members = (/** @type {string} */ kind, /** @type {Record<string, string>} */ pairs) => Object.entries(pairs).map(([key, value]) => `<member><${kind}Key>${key}</${kind}Key><${kind}Value>${value}</${kind}Value></member>`).join('')
    const stack = `<StackStatus>UPDATE_COMPLETE</StackStatus><Outputs>${members('Output', this.outputs)}</Outputs><Parameters>${members('Parameter', this.parameters)}</Parameters>`
    response.writeHead(200).end(`<DescribeStacksResponse><DescribeStacksResult><Stacks><member>${stack}</member></Stacks></DescribeStacksResult></DescribeStacksResponse>`)
  }

  /** Runs `aptix console upload`, and returns its output. @param {string[]} options */
  async upload(...options) {
    const env = { PATH: process.env.PATH, HOME: this.#folder, AWS_ENDPOINT_URL: this.aws.url, AWS_REGION: 'us-east-1', AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'secret' }
    const done = run(process.env.APTIX_PROGRAM ?? '', ['console', 'upload', '--stack', 'agent-dev', ...options], { env })
    return done.then(
      ({ stdout }) => stdout,
      ({ stderr }) => stderr,
    )
  }

  end() {
    this.distribution.end()
    this.aws.end()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
