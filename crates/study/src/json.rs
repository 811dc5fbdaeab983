//! A study as plain data, for the Python side.

use serde_json::{Value as Json, json};

use crate::factors::{Factor, Override};
use crate::file::{ComparePaths, StudyFile};
use crate::metric::{Metric, Series};

impl StudyFile {
    /// All that the file says, defaults filled in.
    pub fn to_json(&self) -> Json {
        let compare_paths = match &self.compare_paths {
            None => Json::Null,
            Some(ComparePaths::All(all)) => (*all).into(),
            Some(ComparePaths::Flows(flows)) => flows.iter().map(|(flow, _)| flow.as_str()).collect(),
        };
        let baseline = self.baseline.as_ref().map(|levels| -> Json {
            levels.iter().map(|(factor, level)| (factor.clone(), Json::from(level.as_str()))).collect()
        });
        let (stopping, treatment) = (&self.stopping, &self.treatment);
        json!({
            "name": self.name,
            "like": self.source.below.iter().map(|(file, _)| file.as_str()).collect::<Vec<_>>(),
            "scenario": self.scenario.display().to_string(),
            "common": self.common.iter().map(pair).collect::<Vec<_>>(),
            "factors": self.factors.iter().map(factor).collect::<Vec<_>>(),
            "stopping": {
                "minimum": stopping.minimum,
                "maximum": stopping.maximum,
                "metric": stopping.metric.as_ref().map(|metric| metric.text.as_str()),
                "half_width": stopping.half_width,
                "step": stopping.step,
            },
            "series": self.series,
            "compare_paths": compare_paths,
            "metrics": self.metrics.iter().map(|metric| metric.text.as_str()).collect::<Vec<_>>(),
            "baseline": baseline,
            "treatment": {
                "outliers": treatment.outliers,
                "z": treatment.z,
                "test": treatment.test,
                "correction": treatment.correction,
                "alpha": treatment.alpha,
                "pool": treatment.pool,
            },
        })
    }
}

impl Metric {
    /// Its parts.
    pub fn to_json(&self) -> Json {
        json!({ "text": self.text, "function": self.function, "table": self.table, "name": self.name,
                "column": self.column })
    }
}

impl Series {
    /// Its parts.
    pub fn to_json(&self) -> Json {
        json!({ "kind": self.kind, "name": self.name, "column": self.column })
    }
}

fn pair(one: &Override) -> Json {
    json!([one.key, one.value])
}

fn factor(factor: &Factor) -> Json {
    let levels = factor.levels.iter().map(|level| {
        json!({ "label": level.label, "overrides": level.overrides.iter().map(pair).collect::<Vec<_>>() })
    });
    json!({ "name": factor.name, "levels": levels.collect::<Vec<_>>() })
}
