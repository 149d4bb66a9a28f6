"use strict";
// Synthesizes a stack from the folder in the first argument, and checks what it deploys. Run by scripts/packaging.

const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const { App, CfnOutput, Stack } = require("aws-cdk-lib");
const { Aptix } = require("./index.js");

const dist = process.argv[2];
const OpenAiApiKeySecretArn = "arn:aws:secretsmanager:us-east-1:123456789012:secret:openai-api-key-a1b2c3";
const app = new App({ outdir: path.join(dist, "cdk.out") });
const stack = new Stack(app, "agents", { tags: { Application: "aptix" } });
const aptix = new Aptix(stack, "Aptix", { dist, parameters: { OpenAiApiKeySecretArn, ExecuteMemory: 128 } });
new CfnOutput(stack, "ApiUrl", { value: aptix.output("ApiUrl") });
for (const [parameters, message] of [
  [{ OpenAiApiKeySecretArn, CodeBucket: "mine" }, /sets CodeBucket itself/],
  [{ OpenAiApiKeySecretArn, Modelname: "gpt-5" }, /no parameter Modelname/],
]) {
  const other = new Stack(new App(), "other");
  assert.throws(() => new Aptix(other, "Aptix", { dist, parameters }), message);
}

const assembly = app.synth();
const { template } = assembly.getStackByName("agents");
const [nested] = Object.values(template.Resources).filter((resource) => resource.Type === "AWS::CloudFormation::Stack");
assert.strictEqual(nested.Properties.Parameters.ExecuteMemory, "128");
assert.deepStrictEqual(template.Outputs.ApiUrl.Value["Fn::GetAtt"][1], "Outputs.ApiUrl");
// The published files are those of the folder, byte for byte.
const names = ["template.json", ...fs.readdirSync(dist).filter((name) => name.endsWith(".zip"))];
const assets = fs.readdirSync(assembly.directory).filter((name) => name.startsWith("asset."));
const published = assets.map((name) => fs.readFileSync(path.join(assembly.directory, name), "base64"));
for (const name of names) {
  assert.ok(published.includes(fs.readFileSync(path.join(dist, name), "base64")), `${name} is not published as it is`);
}
assert.strictEqual(Object.keys(nested.Properties.Parameters).filter((name) => name.endsWith("Code")).length, 6);
console.log("ok      cdk synth");
