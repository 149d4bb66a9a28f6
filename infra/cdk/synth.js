"use strict";
// Synthesizes a stack from the folder in the first argument, and checks what it deploys. Run by scripts/packaging.

const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const { App, CfnOutput, Stack } = require("aws-cdk-lib");
const { Construct } = require("constructs");
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

// CDK derives names from the path of a construct, and shortens them.
const long = "agents-of-the-platform-team-".repeat(8);
const deep = new Stack(new App({ outdir: path.join(dist, "cdk.out", "long") }), long);
const parent = [1, 2, 3].reduce((scope, number) => new Construct(scope, `${long}${number}`), deep);
const inner = new Aptix(parent, "Aptix", { dist, parameters: { OpenAiApiKeySecretArn } });
new CfnOutput(deep, "ApiUrl", { value: inner.output("ApiUrl") });
const found = deep.node.root.synth().getStackArtifact(deep.artifactId);
assert.match(found.stackName, /^[A-Za-z][A-Za-z0-9-]{0,127}$/);
const stacks = Object.entries(found.template.Resources).filter(([, one]) => one.Type === "AWS::CloudFormation::Stack");
assert.strictEqual(stacks.length, 1);
for (const [id, { Properties }] of stacks) {
  assert.match(id, /^[A-Za-z0-9]{1,255}$/);
  assert.deepStrictEqual(Object.keys(Properties.Parameters).sort(), Object.keys(nested.Properties.Parameters).filter((name) => name !== "ExecuteMemory").sort());
  assert.strictEqual(found.template.Outputs.ApiUrl.Value["Fn::GetAtt"][0], id);
}
console.log(`ok      cdk synth with a path of ${inner.node.path.length} characters: stack ${found.stackName.length}, resource ${stacks[0][0].length}`);
